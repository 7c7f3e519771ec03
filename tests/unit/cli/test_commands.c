/* Commands: what they ask, what they end with, and what they say when something is wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/cli/expect.h"

/* ---- wrong usage, before anything is asked ---- */

static void assert_wrong(const char *line, const char *says)
{
    struct ran r = run_line(NULL, line);

    assert_int_equal(r.outcome, OUTCOME_USAGE);
    assert_string_equal(r.out, "");
    assert_holds(r.err, says);
    ran_deinit(&r);
}

static void wrong_usage_names_the_value_and_what_is_accepted(void **state)
{
    (void)state;
    assert_wrong("tpo", "'tpo' is not a command; these are: status agents start");
    assert_wrong("--colour top", "'--colour' is not accepted before the command");
    assert_wrong("top --hz 9", "'--hz' is not accepted; these options are: --help");
    assert_wrong("start * --hz fast", "--hz 'fast' is not accepted; give a whole number from 1");
    assert_wrong("start * --hz 10001", "from 1 to 10000");
    assert_wrong("start * --hz -1", "'-1' is not accepted");
    assert_wrong("start * --for soon", "--for 'soon' is not accepted; give a duration");
    assert_wrong("start", "SELECTOR is missing");
    assert_wrong("start a b", "'b' is one argument too many");
    assert_wrong("top --from yesterday", "give -1h, now, ISO 8601 or epoch seconds");
    assert_wrong("top --limit", "--limit needs a value: a whole number");
    assert_wrong("top --event latency", "--event 'latency' is not accepted");
    assert_wrong("top --session last --from -1h", "leave --from and --to away");
    assert_wrong("export --format svg", "give pprof, collapsed or speedscope");
    assert_wrong("rate " ID_NEW, "--hz is missing");
    assert_wrong("symbols", "list | upload FILE... is missing");
    assert_wrong("symbols lsit", "'lsit' is not accepted; list and upload FILE... are");
    assert_wrong("symbols list all", "list takes no argument, and 'all' is one");
    assert_wrong("symbols upload", "upload needs a FILE");
    assert_wrong("diff last", "A B is missing");
    assert_wrong("diff -1h..soon -2h..-1h", "'-1h..soon' is not a span of time");
    assert_wrong("flame last", "'last' is one side");
    assert_wrong("flame -2h..-1h -1h..now --select a=b", "--select-a");
    assert_wrong("flame --select-a a=b", "narrow two sides");
    assert_wrong("status --url gopher://x", "give unix:PATH, http://HOST:PORT");
    assert_wrong("--url nonsense status", "'nonsense' is not where a coordinator can be");
}

static void help_goes_to_the_output_and_names_every_command(void **state)
{
    static const char *const names[] = {"status", "agents", "start", "stop",  "rate",   "sessions",
                                        "watch",  "top",    "diff",  "flame", "export", "ledger"};
    struct ran all = run_line(NULL, "--help"), one = run_line(NULL, "start --help"),
               none = run_line(NULL, "");

    (void)state;
    assert_int_equal(all.outcome, OUTCOME_DONE);
    assert_string_equal(all.err, "");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_holds(all.out, names[i]);
    assert_int_equal(one.outcome, OUTCOME_DONE);
    assert_holds(one.out, "Usage: fleetprof start [OPTION...] SELECTOR");
    assert_holds(one.out, "--wait");
    assert_holds(one.out, "--json");
    assert_int_equal(none.outcome, OUTCOME_USAGE);
    assert_string_equal(none.out, "");
    ran_deinit(&all);
    ran_deinit(&one);
    ran_deinit(&none);
}

/* ---- the coordinator's refusals ---- */

static void a_coordinator_that_is_away_is_named(void **state)
{
    struct ran r = run_line(NULL, "status");

    (void)state;
    assert_int_equal(r.outcome, OUTCOME_FAILED);
    assert_string_equal(r.err,
                        "fleetprof status: nobody answers at unix:/nowhere/api.sock (No such "
                        "file or directory): is fleetprofd running? --url says where\n");
    ran_deinit(&r);
}

static void refusals_are_printed_as_they_are(void **state)
{
    static const struct {
        int code;
        enum outcome outcome;
    } cases[] = {{400, OUTCOME_USAGE},  {403, OUTCOME_FAILED}, {404, OUTCOME_NOT_FOUND},
                 {409, OUTCOME_FAILED}, {429, OUTCOME_FAILED}, {500, OUTCOME_FAILED}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct canned answers[] = {
            ANSWER_JSON(
                "GET /api/v1/top", cases[i].code,
                "{\"error\":{\"code\":\"x\",\"message\":\"select 'a' lacks an operator\"}}"),
            {0}};
        struct ran r = expect(answers, "top --json", cases[i].outcome, NULL);

        assert_string_equal(r.err, "fleetprof top: select 'a' lacks an operator\n");
        assert_string_equal(r.out, "");
        ran_deinit(&r);
    }
}

static void answers_that_are_not_the_api_are_said_to_be_so(void **state)
{
    struct canned page[] = {ANSWER("GET", 502, "text/html", "<h1>Bad gateway</h1>"), {0}};
    struct canned broken[] = {ANSWER_JSON("GET", 200, "{\"rows\":["), {0}};
    struct ran r = expect(page, "top", OUTCOME_FAILED, NULL);

    (void)state;
    assert_holds(r.err, "answered 502: <h1>Bad gateway</h1>");
    ran_deinit(&r);
    r = expect(broken, "top", OUTCOME_FAILED, NULL);
    assert_holds(r.err, "is not JSON");
    ran_deinit(&r);
}

static void strange_json_does_no_harm(void **state)
{
    static const char *const lines[] = {
        "status",  "agents", "sessions",       "sessions 00ffb2c3d4e5f607",
        "top",     "ledger", "diff last last", "stop 00ffb2c3d4e5f607",
        "start *", "watch x"};
    static const char *const bodies[] = {
        "{}", "[]", "{\"rows\":[1,null,{}],\"by\":[\"function\",7],\"lines\":[[]],\"a\":3}",
        "{\"sessions\":[{\"id\":7,\"hosts\":[{}]}],\"agents\":[{\"running\":[{}]}],\"hosts\":{}}"};

    (void)state;
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        struct canned answers[] = {ANSWER_JSON("GET /api/v1/sessions/", 404, bodies[i]),
                                   ANSWER_JSON("GET", 200, bodies[i]),
                                   ANSWER_JSON("POST", 200, bodies[i]),
                                   {0}};
        struct stub *s = stub_start(answers);

        for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
            struct ran r = run_line(s, lines[k]);

            ran_deinit(&r);
        }
        stub_stop(s);
    }
}

/* ---- what is asked ---- */

static void json_is_printed_as_it_came(void **state)
{
    struct canned answers[] = {ANSWER_JSON("GET", 200, "{\"agents\" :  []}"), {0}};
    char *asked;
    struct ran r = expect(answers, "agents zone=a --json", OUTCOME_DONE, &asked);

    (void)state;
    assert_string_equal(r.out, "{\"agents\" :  []}\n");
    assert_string_equal(asked, "GET /api/v1/agents?select=zone%3Da HTTP/1.1\n");
    free(asked);
    ran_deinit(&r);
}

static void a_window_is_passed_on_escaped(void **state)
{
    struct canned answers[] = {ANSWER_JSON("GET", 200, TOP), {0}};
    char *asked;
    struct ran r =
        expect(answers,
               "top --from -2h --to now --select service=a&b,c=~^x+ --by service,function "
               "--limit 0 --json",
               OUTCOME_DONE, &asked);

    (void)state;
    assert_string_equal(asked,
                        "GET /api/v1/top?from=-2h&to=now&select=service%3Da%26b%2Cc%3D~%5Ex%2B"
                        "&by=service%2Cfunction&limit=0 HTTP/1.1\n");
    free(asked);
    ran_deinit(&r);
}

static void a_session_is_found_by_its_beginning_or_as_the_last(void **state)
{
    struct canned answers[] = {ANSWER_JSON("GET /api/v1/sessions", 200, SESSIONS),
                               ANSWER_JSON("GET /api/v1/top", 200, TOP),
                               {0}};
    char *asked;
    struct ran r = expect(answers, "top --session 00a1 --json", OUTCOME_DONE, &asked);

    (void)state;
    assert_holds(asked, "GET /api/v1/top?session=" ID_OLD "&");
    free(asked);
    ran_deinit(&r);
    r = expect(answers, "top --session last --json", OUTCOME_DONE, &asked);
    assert_holds(asked, "GET /api/v1/top?session=" ID_NEW "&");
    free(asked);
    ran_deinit(&r);
    r = expect(answers, "top --session 00", OUTCOME_USAGE, NULL);
    assert_holds(r.err, "'00' begins the ids of 2 sessions");
    ran_deinit(&r);
    r = expect(answers, "stop 7", OUTCOME_NOT_FOUND, NULL);
    assert_holds(r.err, "no session's id begins with '7'");
    ran_deinit(&r);
}

static void sides_of_a_diff_keep_their_order(void **state)
{
    struct canned answers[] = {ANSWER_JSON("GET /api/v1/sessions", 200, SESSIONS),
                               ANSWER_JSON("GET /api/v1/diff", 200, "{}"),
                               {0}};
    char *asked;
    struct ran r =
        expect(answers, "diff 00a1 -1h..now --select-b zone=b --json", OUTCOME_DONE, &asked);

    (void)state;
    assert_holds(asked, "GET /api/v1/diff?a=" ID_OLD "&b=-1h..now&select_b=zone%3Db&by=function&"
                        "limit=20 HTTP/1.1");
    free(asked);
    ran_deinit(&r);
}

/* ---- files ---- */

static void a_file_is_written_whole_and_named(void **state)
{
    struct canned answers[] = {
        ANSWER("GET /api/v1/export?from=-1h&format=collapsed ", 200, "text/plain", "main;work 7\n"),
        {0}};
    char path[] = "/tmp/fleetprof-cli-XXXXXX", line[128], content[64] = "", expected[64];
    int fd = mkstemp(path);
    struct ran r;

    (void)state;
    assert_true(fd >= 0);
    snprintf(line, sizeof(line), "export --from -1h --format collapsed -o %s", path);
    r = expect(answers, line, OUTCOME_DONE, NULL);
    snprintf(expected, sizeof(expected), "%s: 12 B\n", path);
    assert_string_equal(r.out, expected);
    assert_int_equal(read(fd, content, sizeof(content)), 12);
    assert_string_equal(content, "main;work 7\n");
    close(fd);
    unlink(path);
    ran_deinit(&r);
    r = expect(answers, "export --from -1h --format collapsed", OUTCOME_DONE, NULL);
    assert_string_equal(r.out, "main;work 7\n");
    ran_deinit(&r);
}

static void a_file_that_cannot_be_written_fails(void **state)
{
    struct canned answers[] = {ANSWER("GET", 200, "text/html", "<!doctype html>"), {0}};
    struct ran r = expect(answers, "flame --from -1h -o /nowhere/f.html", OUTCOME_FAILED, NULL);

    (void)state;
    assert_string_equal(
        r.err, "fleetprof flame: /nowhere/f.html cannot be written: No such file or directory\n");
    ran_deinit(&r);
    r = expect(answers, "flame --from -1h -o /dev/full", OUTCOME_FAILED, NULL);
    assert_holds(r.err, "/dev/full is not complete: No space left on device");
    ran_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_usage_names_the_value_and_what_is_accepted),
        cmocka_unit_test(help_goes_to_the_output_and_names_every_command),
        cmocka_unit_test(a_coordinator_that_is_away_is_named),
        cmocka_unit_test(refusals_are_printed_as_they_are),
        cmocka_unit_test(answers_that_are_not_the_api_are_said_to_be_so),
        cmocka_unit_test(strange_json_does_no_harm),
        cmocka_unit_test(json_is_printed_as_it_came),
        cmocka_unit_test(a_window_is_passed_on_escaped),
        cmocka_unit_test(a_session_is_found_by_its_beginning_or_as_the_last),
        cmocka_unit_test(sides_of_a_diff_keep_their_order),
        cmocka_unit_test(a_file_is_written_whole_and_named),
        cmocka_unit_test(a_file_that_cannot_be_written_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
