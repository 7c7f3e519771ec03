/* What the tables look like, to the byte: views/NAME.json is the API's answer, views/NAME.txt what
 * is printed of it into a pipe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cli/run.h"

enum { FILE_MAX = 16384 };

/* The file views/NAME.EXTENSION; free it. */
static char *view_file(const char *name, const char *extension)
{
    char path[512];
    char *text = calloc(1, FILE_MAX);
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s.%s", VIEWS_DIRECTORY, name, extension);
    file = fopen(path, "r");
    if (file == NULL)
        print_error("%s cannot be read\n", path);
    assert_non_null(file);
    assert_true(fread(text, 1, FILE_MAX, file) < FILE_MAX);
    fclose(file);
    return text;
}

/* `line` asks for `path`, is answered by views/JSON.json, and prints views/VIEW.txt. */
static void assert_view(const char *line, const char *path, const char *json, const char *view)
{
    char *body = view_file(json, "json"), *expected = view_file(view, "txt");
    struct canned answers[] = {ANSWER_JSON(path, 200, body), {0}};
    struct stub *s = stub_start(answers);
    struct ran r;

    assert_non_null(s);
    r = run_line(s, line);
    if (strcmp(r.out, expected) != 0)
        print_error("%s%s", r.err, r.out);
    assert_int_equal(r.outcome, OUTCOME_DONE);
    assert_string_equal(r.err, "");
    assert_string_equal(r.out, expected);
    ran_deinit(&r);
    stub_stop(s);
    free(body);
    free(expected);
}

static void top_is_one_line_and_a_ranking(void **state)
{
    (void)state;
    assert_view("top", "GET /api/v1/top?by=function&limit=20 ", "top", "top");
}

static void top_by_several_keys_has_a_column_each(void **state)
{
    (void)state;
    assert_view("top --by service,host", "GET /api/v1/top?by=service%2Chost&", "top_by_service",
                "top_by_service");
}

static void an_empty_window_says_where_to_look(void **state)
{
    (void)state;
    assert_view("top", "GET /api/v1/top", "top_of_nothing", "top_of_nothing");
}

static void diff_hides_noise_and_says_how_much(void **state)
{
    (void)state;
    assert_view("diff -2h..-1h -1h..now",
                "GET /api/v1/diff?a=-2h..-1h&b=-1h..now&by=function&limit=0 ", "diff", "diff");
}

static void diff_shows_all_when_asked_and_keeps_to_the_limit(void **state)
{
    (void)state;
    assert_view("diff -2h..-1h -1h..now --all --limit 3", "GET /api/v1/diff", "diff", "diff_all");
}

static void ledger_adds_up_by_host_and_cause(void **state)
{
    (void)state;
    assert_view("ledger --from -1h", "GET /api/v1/ledger?from=-1h ", "ledger", "ledger");
}

static void sessions_are_a_table_and_one_has_its_hosts(void **state)
{
    (void)state;
    assert_view("sessions", "GET /api/v1/sessions ", "sessions", "sessions");
    assert_view("sessions 00ffb2c3d4e5f607", "GET /api/v1/sessions/00ffb2c3d4e5f607 ", "session",
                "session");
}

static void status_is_a_glance(void **state)
{
    (void)state;
    assert_view("status", "GET /api/v1/status ", "status", "status");
}

static void agents_show_what_they_run_and_cost(void **state)
{
    (void)state;
    assert_view("agents", "GET /api/v1/agents ", "agents", "agents");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(top_is_one_line_and_a_ranking),
        cmocka_unit_test(top_by_several_keys_has_a_column_each),
        cmocka_unit_test(an_empty_window_says_where_to_look),
        cmocka_unit_test(diff_hides_noise_and_says_how_much),
        cmocka_unit_test(diff_shows_all_when_asked_and_keeps_to_the_limit),
        cmocka_unit_test(ledger_adds_up_by_host_and_cause),
        cmocka_unit_test(sessions_are_a_table_and_one_has_its_hosts),
        cmocka_unit_test(status_is_a_glance),
        cmocka_unit_test(agents_show_what_they_run_and_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
