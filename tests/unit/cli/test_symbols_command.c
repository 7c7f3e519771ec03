/* symbols list and upload: what is said of files that cannot be, and of names that there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cli/run.h"

/* Runs against `answers`; the caller's test fails when the outcome is another. */
static struct ran expect(const struct canned *answers, const char *line, enum outcome outcome,
                         char **asked)
{
    struct stub *s = stub_start(answers);
    struct ran r;

    assert_non_null(s);
    r = run_line(s, line);
    if (r.outcome != outcome)
        print_error("%s: exit %d\n%s%s", line, r.outcome, r.out, r.err);
    assert_int_equal(r.outcome, outcome);
    if (asked != NULL)
        *asked = strdup(stub_asked(s));
    stub_stop(s);
    return r;
}

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        print_error("'%s' is not in:\n%s", part, text);
    assert_non_null(strstr(text, part));
}

static void a_file_that_cannot_be_uploaded_is_named_with_what_would_be_right(void **state)
{
    static const struct {
        const char *line, *says;
    } faults[] = {
        {"symbols upload /etc/passwd", "/etc/passwd: not an ELF file; give a binary"},
        {"symbols upload /nowhere/app", "/nowhere/app: No such file or directory"},
        {"symbols upload /dev/null", "/dev/null: not a file"},
        {"symbols upload /", "/: not a file"},
    };
    const struct canned none[] = {{0}};

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        char *asked = NULL;
        struct ran r = expect(none, faults[i].line, OUTCOME_FAILED, &asked);

        assert_holds(r.err, faults[i].says);
        assert_string_equal(asked, ""); /* nobody was bothered */
        ran_deinit(&r);
        free(asked);
    }
}

static void what_is_listed_says_where_names_come_from_and_where_they_lack(void **state)
{
    const struct canned answers[] = {
        ANSWER_JSON(
            "GET /api/v1/symbols?limit=0 ", 200,
            "{\"tables\":[{\"build_id\":\"00112233445566778899\",\"path\":\"/bin/app\","
            "\"name\":null,\"symbols\":1234,\"quality\":\"functions\",\"sources\":[\"symtab\"],"
            "\"bytes\":2048,\"stored\":null,\"origin\":\"agent\",\"from\":\"web1\"}],"
            "\"tables_found\":1,\"missing\":[{\"build_id\":\"ffee\",\"path\":\"/bin/bare\"}],"
            "\"missing_found\":1}"),
        {0}};
    struct ran r = expect(answers, "symbols list", OUTCOME_DONE, NULL);

    (void)state;
    assert_holds(r.out, "001122334455 ");
    assert_holds(r.out, "1,234");
    assert_holds(r.out, "agent web1");
    assert_holds(r.out, "Samples ran through a binary that has no symbols:");
    assert_holds(r.out, "ffee");
    ran_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_cannot_be_uploaded_is_named_with_what_would_be_right),
        cmocka_unit_test(what_is_listed_says_where_names_come_from_and_where_they_lack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
