/* The API's questions over real samples: their JSON, their faults, their limit, their end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_world.h"
#include "coordinator/http/question.h"

/* A name that would end the page's script element if it were not escaped. */
static const char evil[] = "</script><b>work";

/* A session with one chunk of 99 samples; returns its id. */
static const char *with_samples(struct api_world *w, char id[SESSION_ID_TEXT_MAX])
{
    json_t *session;

    agent_connects(w);
    session = ask(w, "POST", "/api/v1/sessions", "{\"hz\":99}", 201);
    (void)snprintf(id, SESSION_ID_TEXT_MAX, "%s", text_at(session, "id"));
    json_decref(session);
    agent_uploads(w, evil);
    return id;
}

static json_t *question(struct api_world *w, const char *format, const char *id)
{
    char target[256];

    (void)snprintf(target, sizeof(target), format, id, id);
    return ask(w, "GET", target, NULL, 200);
}

static void an_empty_window_is_an_answer(void **state)
{
    struct api_world *w = *state;
    json_t *a = ask(w, "GET", "/api/v1/top", NULL, 200);

    assert_int_equal(json_array_size(at(a, "rows")), 0);
    assert_true(number_at(a, "cores") == 0);
    assert_true(number_at(a, "coverage.samples") == 0);
    assert_true(number_at(a, "coverage.lost.ring_full") == 0);
    assert_string_equal(text_at(a, "by.0"), "function");
    json_decref(a);
    a = ask(w, "GET", "/api/v1/diff?a=-2h..-1h&b=-1h..now", NULL, 200);
    assert_int_equal(json_array_size(at(a, "rows")), 0);
    json_decref(a);
    a = ask(w, "GET", "/api/v1/flame", NULL, 200);
    assert_int_equal(json_array_size(at(a, "parent")), 1);
    json_decref(a);
    a = ask(w, "GET", "/api/v1/ledger", NULL, 200);
    assert_int_equal(json_array_size(at(a, "lines")), 0);
    assert_true(number_at(a, "total.delivered") == 0);
    json_decref(a);
    json_decref(ask(w, "GET", "/api/v1/export?format=collapsed", NULL, 200));
    json_decref(ask(w, "GET", "/flame", NULL, 200));
}

static void top_ranks_what_was_sampled_and_states_its_coverage(void **state)
{
    struct api_world *w = *state;
    char id[SESSION_ID_TEXT_MAX];
    json_t *a =
        question(w, "/api/v1/top?session=%s&by=service,function&limit=1", with_samples(w, id));

    assert_int_equal(json_array_size(at(a, "rows")), 1);
    assert_string_equal(text_at(a, "rows.0.key.0"), "checkout");
    assert_string_equal(text_at(a, "rows.0.key.1"), evil);
    assert_true(number_at(a, "rows.0.self.samples") == 90);
    assert_true(number_at(a, "rows.0.self.share") > 0.9);
    assert_true(number_at(a, "rows_found") == 2);
    assert_true(number_at(a, "folded_share") > 0.09);
    assert_true(number_at(a, "samples") == 99);
    assert_true(number_at(a, "coverage.hosts_covered") == 1);
    assert_true(number_at(a, "coverage.delivered") == 99);
    assert_true(number_at(a, "coverage.hz_max") == 99);
    json_decref(a);
}

static void a_comparison_with_itself_finds_nothing(void **state)
{
    struct api_world *w = *state;
    char id[SESSION_ID_TEXT_MAX];
    json_t *a = question(w, "/api/v1/diff?a=%s&b=%s", with_samples(w, id));

    assert_int_equal(json_array_size(at(a, "rows")), 2);
    assert_string_equal(text_at(a, "rows.0.verdict"), "noise");
    assert_true(number_at(a, "rows.0.cores_delta") == 0);
    assert_true(number_at(a, "a.samples") == 99 && number_at(a, "b.samples") == 99);
    json_decref(a);
}

static void a_flame_has_its_columns_for_one_side_or_two(void **state)
{
    struct api_world *w = *state;
    char id[SESSION_ID_TEXT_MAX];
    json_t *a = question(w, "/api/v1/flame?session=%s", with_samples(w, id));
    double total = number_at(a, "total.0");

    assert_int_equal(json_array_size(at(a, "parent")), 3); /* root, main, work */
    assert_true(number_at(a, "function.0") == -1);
    assert_true(number_at(a, "total.1") == total);
    assert_true(number_at(a, "self.2") / total > 0.9);
    assert_int_equal(json_array_size(at(a, "names")), json_array_size(at(a, "kinds")));
    assert_string_equal(text_at(a, "kinds.0"), "named");
    assert_null(json_object_get(a, "self_b"));
    json_decref(a);
    a = question(w, "/api/v1/flame?a=%s&b=%s", id);
    assert_true(number_at(a, "total_b.0") == total);
    assert_true(number_at(a, "coverage_b.samples") == 99);
    json_decref(a);
}

static void no_name_can_break_out_of_the_page(void **state)
{
    struct api_world *w = *state;
    char id[SESSION_ID_TEXT_MAX];
    const char *data, *end;
    json_t *json;

    assert_null(question(w, "/flame?session=%s", with_samples(w, id)));
    assert_null(strstr(client_body(w->client), "<!--FLEETPROF-DATA-->"));
    data = strstr(client_body(w->client), "<script id=\"data\" type=\"application/json\">");
    assert_non_null(data);
    data = strchr(data, '>') + 1;
    end = strchr(data, '<'); /* the data itself has none */
    assert_int_equal(strncmp(end, "</script>", 9), 0);
    json = json_loadb(data, (size_t)(end - data), 0, NULL);
    assert_non_null(json);
    assert_true(strcmp(text_at(json, "names.0"), evil) == 0 ||
                strcmp(text_at(json, "names.1"), evil) == 0);
    json_decref(json);
}

static void an_export_is_a_download_in_its_format(void **state)
{
    struct api_world *w = *state;
    char id[SESSION_ID_TEXT_MAX];

    json_decref(question(w, "/api/v1/export?session=%s&format=collapsed", with_samples(w, id)));
    assert_non_null(strstr(w->client->received, "attachment; filename=\"fleetprof.txt\""));
    assert_non_null(strstr(client_body(w->client), "main;</script><b>work "));
    json_decref(question(w, "/api/v1/export?session=%s&format=speedscope", id));
    assert_non_null(strstr(w->client->received, "fleetprof.speedscope.json"));
}

static void the_ledger_accounts_for_every_sample_of_a_host(void **state)
{
    struct api_world *w = *state;
    char id[SESSION_ID_TEXT_MAX];
    json_t *a = question(w, "/api/v1/ledger?session=%s", with_samples(w, id));

    assert_string_equal(text_at(a, "lines.0.host"), "web1");
    assert_true(number_at(a, "lines.0.chunks") == 1);
    assert_true(number_at(a, "lines.0.delivered") == 99);
    assert_true(number_at(a, "lines.0.hz") == 99);
    assert_true(number_at(a, "total.expected") == 99);
    assert_true(number_at(a, "total.missing_chunks") == 0);
    json_decref(a);
}

static void faulty_questions_are_told_what_would_be_right(void **state)
{
    static const struct {
        const char *target;
        unsigned code;
        const char *says;
    } faults[] = {
        {"/api/v1/top?from=yesterday", 400, "from 'yesterday'"},
        {"/api/v1/top?to=tomorrow", 400, "to 'tomorrow'"},
        {"/api/v1/top?from=now&to=-1h", 400, "before"},
        {"/api/v1/top?session=last", 400, "16 hexadecimal"},
        {"/api/v1/top?session=0123456789abcdef", 404, "0123456789abcdef"},
        {"/api/v1/top?session=0123456789abcdef&from=-1h", 400, "without from"},
        {"/api/v1/top?limit=-1", 400, "limit '-1'"},
        {"/api/v1/top?limit=", 400, "limit ''"},
        {"/api/v1/top?limit=100001", 400, "100000"},
        {"/api/v1/top?limit=99999999999999999999", 400, "100000"},
        {"/api/v1/top?by=colour", 400, "function binary service host thread"},
        {"/api/v1/top?event=gpu", 400, "cpu offcpu"},
        {"/api/v1/top?select=%3D", 400, "select"},
        {"/api/v1/top?form=-1h", 400, "'form'"},
        {"/api/v1/diff?a=-2h..-1h", 400, "b is missing"},
        {"/api/v1/diff?a=-2h..-1h&b=x", 400, "from..to"},
        {"/api/v1/diff?a=-2h..-1h&b=-1h..", 400, "b ''"},
        {"/api/v1/diff?a=-2h..-1h&b=-1h..now&select_b=%3D", 400, "select_b"},
        {"/api/v1/flame?a=-2h..-1h&b=-1h..now&from=-1h", 400, "from does not go"},
        {"/api/v1/flame?format=png", 400, "json or html"},
        {"/api/v1/export", 400, "pprof collapsed speedscope"},
        {"/api/v1/export?format=svg", 400, "'svg'"},
        {"/flame?session=0123456789abcdef", 404, "0123456789abcdef"},
    };
    struct api_world *w = *state;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        json_t *a = ask(w, "GET", faults[i].target, NULL, faults[i].code);

        if (strstr(text_at(a, "error.message"), faults[i].says) == NULL)
            fail_msg("%s: '%s' does not say '%s'", faults[i].target, text_at(a, "error.message"),
                     faults[i].says);
        json_decref(a);
    }
}

/* ---- many at once ---- */

enum { WORKERS = 4 }; /* of libuv, unless the environment says otherwise */

struct jam { /* keeps every worker busy until it is let go */
    uv_work_t work[WORKERS];
    uv_sem_t go;
    unsigned busy;
};

static void wait_for_go(uv_work_t *work)
{
    struct jam *jam = work->data;

    uv_sem_wait(&jam->go);
}

static void on_worker_free(uv_work_t *work, int status)
{
    struct jam *jam = work->data;

    (void)status;
    jam->busy--;
}

static void jam_workers(struct api_world *w, struct jam *jam)
{
    assert_int_equal(uv_sem_init(&jam->go, 0), 0);
    jam->busy = WORKERS;
    for (unsigned i = 0; i < WORKERS; i++) {
        jam->work[i].data = jam;
        assert_int_equal(uv_queue_work(&w->loop, &jam->work[i], wait_for_go, on_worker_free), 0);
    }
}

static void let_go(struct jam *jam)
{
    for (unsigned i = 0; i < WORKERS; i++)
        uv_sem_post(&jam->go);
}

static bool is_over(void *arg)
{
    const struct jam *jam = arg;

    return jam->busy == 0;
}

static bool is_answered(void *arg)
{
    return client_has_answer(arg);
}

/* All that were sent, each on its own connection, have come in. */
static void wait_for_questions(struct api_world *w, unsigned count)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "\nfleetprof_questions_running %u\n", count);
    do
        json_decref(ask(w, "GET", "/metrics", NULL, 200));
    while (strstr(client_body(w->client), text) == NULL);
}

static void too_many_questions_at_once_are_refused_and_the_others_answered(void **state)
{
    static const char request[] = "GET /api/v1/top HTTP/1.1\r\nHost: h\r\n\r\n";
    struct api_world *w = *state;
    struct client *askers[QUESTIONS_MAX];
    struct jam jam;
    json_t *a;

    jam_workers(w, &jam);
    for (unsigned i = 0; i < QUESTIONS_MAX; i++) {
        askers[i] = client_unix(w->path);
        client_send(&w->loop, askers[i], request);
    }
    wait_for_questions(w, QUESTIONS_MAX);
    a = ask(w, "GET", "/api/v1/top", NULL, 429);
    assert_string_equal(text_at(a, "error.code"), "limit");
    json_decref(a);
    json_decref(ask(w, "GET", "/api/v1/status", NULL, 200)); /* the loop is free */
    let_go(&jam);
    for (unsigned i = 0; i < QUESTIONS_MAX; i++) {
        loop_until(&w->loop, is_answered, askers[i]);
        assert_int_equal(client_code(askers[i]), 200);
        client_free(askers[i]);
    }
    loop_until(&w->loop, is_over, &jam); /* the workers look at it until then */
    uv_sem_destroy(&jam.go);
}

static void the_end_waits_for_the_questions_that_are_asked(void **state)
{
    struct api_world *w = *state;
    struct client *asker = client_unix(w->path);
    struct jam jam;
    json_t *a;

    jam_workers(w, &jam);
    client_send(&w->loop, asker, "GET /api/v1/top HTTP/1.1\r\nHost: h\r\n\r\n");
    wait_for_questions(w, 1);
    api_begin_end(w);
    a = ask(w, "GET", "/api/v1/status", NULL, 503);
    assert_string_equal(text_at(a, "error.code"), "unavailable");
    json_decref(a);
    assert_false(w->idle);
    let_go(&jam);
    loop_until(&w->loop, is_answered, asker);
    assert_int_equal(client_code(asker), 200);
    loop_until(&w->loop, is_over, &jam);
    api_close(w);
    client_free(asker);
    uv_sem_destroy(&jam.go);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        api_test(an_empty_window_is_an_answer),
        api_test(top_ranks_what_was_sampled_and_states_its_coverage),
        api_test(a_comparison_with_itself_finds_nothing),
        api_test(a_flame_has_its_columns_for_one_side_or_two),
        api_test(no_name_can_break_out_of_the_page),
        api_test(an_export_is_a_download_in_its_format),
        api_test(the_ledger_accounts_for_every_sample_of_a_host),
        api_test(faulty_questions_are_told_what_would_be_right),
        api_test(too_many_questions_at_once_are_refused_and_the_others_answered),
        api_test(the_end_waits_for_the_questions_that_are_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
