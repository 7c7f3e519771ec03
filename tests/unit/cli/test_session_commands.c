/* Commands of a session's life: start, wait, watch, rate and stop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cli/expect.h"

static void start_sends_the_wish_and_prints_the_id(void **state)
{
    struct canned answers[] = {
        ANSWER_JSON("POST /api/v1/sessions ", 201, SESSION(ID_NEW, "running", "")), {0}};
    char *asked;
    struct ran r = expect(answers, "start * --hz 199 --for 1m30s --owner ada --note why",
                          OUTCOME_DONE, &asked);

    (void)state;
    assert_string_equal(r.out, ID_NEW "\n");
    assert_string_equal(r.err, "");
    assert_holds(asked, "{\"selector\":\"*\",\"event\":\"cpu\",\"hz\":199,\"duration_s\":90,"
                        "\"owner\":\"ada\",\"note\":\"why\"}");
    free(asked);
    ran_deinit(&r);
}

static void start_and_wait_prints_the_ranking_alone(void **state)
{
    struct canned answers[] = {
        ANSWER_JSON("POST /api/v1/sessions ", 201, SESSION(ID_NEW, "running", HOST_FINE)),
        ANSWER_STREAM("GET /api/v1/sessions/" ID_NEW "/events",
                      EVENT(SESSION(ID_NEW, "running", HOST_FINE))
                          EVENT(SESSION(ID_NEW, "completed", HOST_FINE))),
        ANSWER_JSON("GET /api/v1/top?session=" ID_NEW, 200, TOP),
        {0}};
    struct ran r = expect(answers, "start * --wait --json", OUTCOME_DONE, NULL);

    (void)state;
    assert_string_equal(r.out, TOP "\n");
    assert_string_equal(r.err, "");
    ran_deinit(&r);
}

static void the_ranking_waits_for_names_that_are_on_their_way(void **state)
{
    static const char pending[] = "GET /api/v1/status HTTP/1.1\nGET /api/v1/status HTTP/1.1\n"
                                  "GET /api/v1/top?";
    struct canned answers[] = {
        ANSWER_JSON("POST /api/v1/sessions ", 201, SESSION(ID_NEW, "running", HOST_FINE)),
        ANSWER_STREAM("GET /api/v1/sessions/" ID_NEW "/events",
                      EVENT(SESSION(ID_NEW, "completed", HOST_FINE))),
        {.request = "GET /api/v1/status",
         .code = 200,
         .body = "{\"link\":{\"symbols_pending\":2}}",
         .uses = 1},
        ANSWER_JSON("GET /api/v1/status", 200, "{\"link\":{\"symbols_pending\":0}}"),
        ANSWER_JSON("GET /api/v1/top?session=" ID_NEW, 200, TOP),
        {0}};
    char *asked = NULL;
    struct ran r = expect(answers, "start * --wait", OUTCOME_DONE, &asked);

    (void)state;
    assert_holds(asked, pending);
    free(asked);
    ran_deinit(&r);
}

static void a_host_that_refused_makes_it_partial_and_is_named(void **state)
{
    struct canned answers[] = {
        ANSWER_JSON("POST /api/v1/sessions ", 201, SESSION(ID_NEW, "running", "")),
        ANSWER_STREAM("GET /api/v1/sessions/" ID_NEW "/events",
                      EVENT(SESSION(ID_NEW, "completed", HOST_FINE "," HOST_REFUSED))),
        ANSWER_JSON("GET /api/v1/top?session=" ID_NEW, 200, TOP),
        {0}};
    struct ran r = expect(answers, "start * --wait", OUTCOME_PARTIAL, NULL);

    (void)state;
    assert_string_equal(r.err, "fleetprof start: web2 refused: no permission\n");
    assert_holds(r.out, "session " ID_NEW "\ncpu  ");
    ran_deinit(&r);
}

static void nobody_matching_is_partial(void **state)
{
    struct canned answers[] = {ANSWER_STREAM("GET /api/v1/sessions/" ID_NEW "/events",
                                             EVENT(SESSION(ID_NEW, "completed", ""))),
                               {0}};
    struct ran r = expect(answers, "watch " ID_NEW, OUTCOME_PARTIAL, NULL);

    (void)state;
    assert_holds(r.err, "no host matched 'service=web'");
    ran_deinit(&r);
}

static void watch_prints_each_state_as_a_line_of_json(void **state)
{
    struct canned answers[] = {ANSWER_STREAM("GET /api/v1/sessions/" ID_NEW "/events",
                                             EVENT(SESSION(ID_NEW, "running", HOST_FINE))
                                                 EVENT(SESSION(ID_NEW, "stopped", HOST_FINE))),
                               {0}};
    struct ran r = expect(answers, "watch " ID_NEW " --json", OUTCOME_DONE, NULL);

    (void)state;
    assert_string_equal(r.out, SESSION(ID_NEW, "running", HOST_FINE) "\n" SESSION(ID_NEW, "stopped",
                                                                                  HOST_FINE) "\n");
    ran_deinit(&r);
}

static void a_stream_that_breaks_is_taken_up_again(void **state)
{
    struct canned answers[] = {{.request = "GET /api/v1/sessions/" ID_NEW "/events",
                                .code = 200,
                                .type = "text/event-stream",
                                .body = EVENT(SESSION(ID_NEW, "running", HOST_FINE)) "data: {\"cut",
                                .uses = 1},
                               {.request = "GET /api/v1/sessions/" ID_NEW "/events",
                                .code = 503,
                                .type = NULL,
                                .body = "{}",
                                .uses = 1},
                               ANSWER_STREAM("GET /api/v1/sessions/" ID_NEW "/events",
                                             EVENT(SESSION(ID_NEW, "completed", HOST_FINE))),
                               {0}};
    struct ran r = expect(answers, "watch " ID_NEW, OUTCOME_DONE, NULL);

    (void)state;
    assert_string_equal(r.err, "");
    assert_holds(r.out, "completed");
    ran_deinit(&r);
}

static void an_interrupted_wait_says_that_the_session_goes_on(void **state)
{
    struct canned answers[] = {
        ANSWER_JSON("POST /api/v1/sessions ", 201, SESSION(ID_NEW, "running", "")),
        {.request = "GET /api/v1/sessions/" ID_NEW "/events",
         .code = 200,
         .type = "text/event-stream",
         .body = EVENT(SESSION(ID_NEW, "running", HOST_FINE)),
         .signal = SIGINT},
        {0}};
    struct ran r = expect(answers, "start * --wait", OUTCOME_PARTIAL, NULL);

    (void)state;
    assert_string_equal(r.err, "session " ID_NEW " goes on; 'fleetprof watch " ID_NEW
                               "' follows it, 'fleetprof stop " ID_NEW "' ends it\n");
    assert_string_equal(r.out, "");
    ran_deinit(&r);
    r = expect(answers, "watch " ID_NEW, OUTCOME_DONE, NULL);
    assert_holds(r.err, "goes on");
    ran_deinit(&r);
}

static void watching_what_is_not_there_is_not_found(void **state)
{
    struct canned answers[] = {
        ANSWER_JSON("GET", 404, "{\"error\":{\"message\":\"no such session\"}}"), {0}};
    struct ran r = expect(answers, "watch " ID_NEW, OUTCOME_NOT_FOUND, NULL);

    (void)state;
    assert_string_equal(r.err, "fleetprof watch: no such session\n");
    ran_deinit(&r);
}

static void stop_and_rate_say_what_the_session_is_now(void **state)
{
    struct canned answers[] = {ANSWER_JSON("POST /api/v1/sessions/" ID_NEW "/", 200,
                                           SESSION(ID_NEW, "draining", HOST_FINE)),
                               {0}};
    char *asked;
    struct ran r = expect(answers, "stop " ID_NEW " --owner ada", OUTCOME_DONE, &asked);

    (void)state;
    assert_string_equal(r.out, "session " ID_NEW ": draining, 99 Hz, 1 host, 1,980 samples\n");
    assert_holds(asked, "/stop HTTP/1.1 {\"owner\":\"ada\"}");
    free(asked);
    ran_deinit(&r);
    r = expect(answers, "rate " ID_NEW " --hz 199", OUTCOME_DONE, &asked);
    assert_holds(asked, "/rate HTTP/1.1 {\"hz\":199}");
    free(asked);
    ran_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(start_sends_the_wish_and_prints_the_id),
        cmocka_unit_test(start_and_wait_prints_the_ranking_alone),
        cmocka_unit_test(the_ranking_waits_for_names_that_are_on_their_way),
        cmocka_unit_test(a_host_that_refused_makes_it_partial_and_is_named),
        cmocka_unit_test(nobody_matching_is_partial),
        cmocka_unit_test(watch_prints_each_state_as_a_line_of_json),
        cmocka_unit_test(a_stream_that_breaks_is_taken_up_again),
        cmocka_unit_test(an_interrupted_wait_says_that_the_session_goes_on),
        cmocka_unit_test(watching_what_is_not_there_is_not_found),
        cmocka_unit_test(stop_and_rate_say_what_the_session_is_now),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
