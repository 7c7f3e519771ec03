/* The API's commands and views of the fleet, over a real store and control. */
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api_world.h"

static char *start_session(struct api_world *w, const char *body)
{
    json_t *session = ask(w, "POST", "/api/v1/sessions", body, 201);
    char *id = strdup(text_at(session, "id"));

    json_decref(session);
    return id;
}

static void status_shows_the_whole_at_a_glance(void **state)
{
    struct api_world *w = *state;
    json_t *status;

    agent_connects(w);
    free(start_session(w, "{}"));
    status = ask(w, "GET", "/api/v1/status", NULL, 200);
    assert_string_equal(text_at(status, "version"), FLEETPROF_VERSION);
    assert_true(number_at(status, "agents.known") == 1);
    assert_true(number_at(status, "agents.connected") == 1);
    assert_true(number_at(status, "sessions.running") == 1);
    assert_true(number_at(status, "sessions.total") == 1);
    assert_true(number_at(status, "store.commits") >= 1);
    assert_true(number_at(status, "ingest.refused.malformed") == 0);
    assert_true(number_at(status, "link.frames_in") == 7);
    assert_true(json_is_false(at(status, "store.disk_full")));
    json_decref(status);
}

static void a_session_starts_with_what_was_asked_or_with_defaults(void **state)
{
    struct api_world *w = *state;
    const struct passwd *user = getpwuid(getuid());
    json_t *s = ask(w, "POST", "/api/v1/sessions", NULL, 201);

    assert_int_equal(strlen(text_at(s, "id")), 16);
    assert_true(number_at(s, "hz") == 99);
    assert_string_equal(text_at(s, "event"), "cpu");
    assert_string_equal(text_at(s, "state"), "running");
    if (user != NULL)
        assert_string_equal(text_at(s, "owner"), user->pw_name);
    json_decref(s);

    s = ask(w, "POST", "/api/v1/sessions",
            "{\"selector\":\"service=a\",\"hz\":199,\"duration_s\":1.5,\"owner\":\"ann\","
            "\"note\":\"\\u00e4 \\\"quoted\\\"\",\"event\":null}",
            201);
    assert_string_equal(text_at(s, "selector"), "service=a");
    assert_true(number_at(s, "hz") == 199);
    assert_string_equal(text_at(s, "owner"), "ann");
    assert_string_equal(text_at(s, "note"), "\xc3\xa4 \"quoted\"");
    assert_int_equal(json_array_size(at(s, "hosts")), 0);
    json_decref(s);
}

static void on_tcp_an_owner_without_a_name_is_anonymous(void **state)
{
    struct api_world *w = *state;
    struct client *c = client_tcp(http_server_port(w->server));
    json_t *s;

    client_ask(&w->loop, c, "POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\n\r\n");
    s = json_loads(client_body(c), 0, NULL);
    assert_string_equal(text_at(s, "owner"), "anonymous");
    json_decref(s);
    client_free(c);
}

struct fault {
    const char *method, *target, *body;
    unsigned code;
    const char *error, *says; /* the error's code, and a part of its message */
};

static void assert_fault(struct api_world *w, const struct fault *f)
{
    json_t *answer = ask(w, f->method, f->target, f->body, f->code);

    assert_string_equal(text_at(answer, "error.code"), f->error);
    if (strstr(text_at(answer, "error.message"), f->says) == NULL)
        fail_msg("%s %s: '%s' does not say '%s'", f->method, f->target,
                 text_at(answer, "error.message"), f->says);
    json_decref(answer);
}

static void faulty_commands_are_told_what_would_be_right(void **state)
{
    static const char sessions[] = "/api/v1/sessions";
    static const struct fault faults[] = {
        {"POST", sessions, "{", 400, "invalid", "not JSON"},
        {"POST", sessions, "[]", 400, "invalid", "JSON object"},
        {"POST", sessions, "{\"hz\":99,\"hz\":1}", 400, "invalid", "not JSON"},
        {"POST", sessions, "{\"rate\":1}", 400, "invalid", "'rate'"},
        {"POST", sessions, "{\"hz\":0}", 400, "invalid", "from 1 to 10000"},
        {"POST", sessions, "{\"hz\":10001}", 400, "invalid", "from 1 to 10000"},
        {"POST", sessions, "{\"hz\":9.5}", 400, "invalid", "whole number"},
        {"POST", sessions, "{\"hz\":\"99\"}", 400, "invalid", "whole number"},
        {"POST", sessions, "{\"duration_s\":0}", 400, "invalid", "from 1 to 604800"},
        {"POST", sessions, "{\"duration_s\":604801}", 400, "invalid", "from 1 to 604800"},
        {"POST", sessions, "{\"duration_s\":1e999}", 400, "invalid", "not JSON"},
        {"POST", sessions, "{\"event\":\"gpu\"}", 400, "invalid", "'gpu'"},
        {"POST", sessions, "{\"event\":7}", 400, "invalid", "string"},
        {"POST", sessions, "{\"selector\":\"host=~(\"}", 400, "invalid", "'('"},
        {"POST", sessions, "{\"note\":\"a\\u0000b\"}", 400, "invalid", "not JSON"},
        {"POST", "/api/v1/sessions/0123456789abcdef/stop", "", 404, "not_found",
         "0123456789abcdef"},
        {"POST", "/api/v1/sessions/0123456789abcdef/stop", "{\"owner\":3}", 400, "invalid",
         "owner"},
        {"POST", "/api/v1/sessions/0123456789abcdef/rate", "{\"hz\":5}", 404, "not_found", ""},
        {"POST", "/api/v1/sessions/0123456789abcdef/rate", "", 400, "invalid", "hz"},
        {"GET", "/api/v1/sessions/0123456789abcdef", NULL, 404, "not_found", "0123456789abcdef"},
        {"GET", "/api/v1/sessions/0123456789abcdef/events", NULL, 404, "not_found", ""},
        {"GET", "/api/v1/sessions/last", NULL, 400, "invalid", "16 hexadecimal"},
        {"GET", "/api/v1/sessions/0123456789abcdef0", NULL, 400, "invalid", "16 hexadecimal"},
        {"GET", "/api/v1/sessions/", NULL, 404, "not_found", "nothing at"},
        {"GET", "/api/v2/status", NULL, 404, "not_found", "/api/v1"},
        {"GET", "/api/v1/status/", NULL, 404, "not_found", ""},
        {"POST", sessions, "{\"owner\":\"\\u001b[2J\"}", 400, "invalid", "control characters"},
        {"GET", "/api/v1/top?from+to=1", NULL, 400, "invalid", "'from to'"},
        {"GET", "/api/v1/status?verbose=1", NULL, 400, "invalid", "'verbose'"},
        {"GET", "/api/v1/agents?select=zone%21", NULL, 400, "invalid", "select"},
        {"GET", "/api/v1/agents?select=a%3Db&select=a%3Dc", NULL, 400, "invalid", "twice"},
        {"DELETE", sessions, NULL, 405, "not_allowed", "GET, POST"},
        {"PUT", "/api/v1/sessions/0123456789abcdef/stop", NULL, 405, "not_allowed", "POST"},
    };
    struct api_world *w = *state;

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        assert_fault(w, &faults[i]);
}

static void an_owner_or_note_over_its_limit_is_refused_and_one_at_it_is_kept(void **state)
{
    struct api_world *w = *state;
    char body[SESSION_NOTE_MAX + 64];
    json_t *s;

    (void)snprintf(body, sizeof(body), "{\"owner\":\"%0*d\"}", SESSION_OWNER_MAX + 1, 0);
    json_decref(ask(w, "POST", "/api/v1/sessions", body, 400));
    (void)snprintf(body, sizeof(body), "{\"note\":\"%0*d\"}", SESSION_NOTE_MAX, 0);
    s = ask(w, "POST", "/api/v1/sessions", body, 201);
    assert_int_equal(strlen(text_at(s, "note")), SESSION_NOTE_MAX);
    json_decref(s);
}

static void rate_and_stop_change_the_session_and_only_its_owner_may_if_one_is_named(void **state)
{
    struct api_world *w = *state;
    char *id = start_session(w, "{\"owner\":\"ann\"}"), target[96];
    json_t *s;

    (void)snprintf(target, sizeof(target), "/api/v1/sessions/%s/rate", id);
    s = ask(w, "POST", target, "{\"hz\":199}", 200);
    assert_true(number_at(s, "hz") == 199);
    json_decref(s);
    (void)snprintf(target, sizeof(target), "/api/v1/sessions/%s/stop", id);
    s = ask(w, "POST", target, "{\"owner\":\"bob\"}", 403);
    assert_string_equal(text_at(s, "error.code"), "denied");
    json_decref(s);
    s = ask(w, "POST", target, "{\"owner\":\"ann\"}", 200);
    assert_string_not_equal(text_at(s, "state"), "running");
    json_decref(s);
    s = ask(w, "POST", target, NULL, 409);
    assert_string_equal(text_at(s, "error.code"), "bad_state");
    json_decref(s);
    free(id);
}

static void sessions_are_listed_newest_first_up_to_the_limit(void **state)
{
    struct api_world *w = *state;
    char *ids[3];
    json_t *list;

    for (size_t i = 0; i < 3; i++)
        ids[i] = start_session(w, "{}");
    list = ask(w, "GET", "/api/v1/sessions?limit=2", NULL, 200);
    assert_int_equal(json_array_size(at(list, "sessions")), 2);
    assert_string_equal(text_at(list, "sessions.0.id"), ids[2]);
    assert_string_equal(text_at(list, "sessions.1.id"), ids[1]);
    assert_true(number_at(list, "total") == 3);
    json_decref(list);
    for (size_t i = 0; i < 3; i++)
        free(ids[i]);
}

static void agents_are_listed_with_labels_plans_and_costs(void **state)
{
    struct api_world *w = *state;
    json_t *list;

    agent_connects(w);
    free(start_session(w, "{\"hz\":99}"));
    list = ask(w, "GET", "/api/v1/agents?select=service%3Dcheckout", NULL, 200);
    assert_string_equal(text_at(list, "agents.0.host"), "web1");
    assert_string_equal(text_at(list, "agents.0.labels.service"), "checkout");
    assert_string_equal(text_at(list, "agents.0.incarnation"), "0000000000001234");
    assert_true(json_is_true(at(list, "agents.0.connected")));
    assert_true(number_at(list, "agents.0.running.0.hz") == 99);
    assert_true(number_at(list, "agents.0.cost.rss_bytes") == 0);
    json_decref(list);
    list = ask(w, "GET", "/api/v1/agents?select=service%3Dother", NULL, 200);
    assert_int_equal(json_array_size(at(list, "agents")), 0);
    json_decref(list);
}

/* ---- streams ---- */

static bool has_rate_199(void *arg)
{
    struct client *c = arg;

    client_pump(c);
    return strstr(c->received, "\"hz\":199") != NULL;
}

static bool has_ended(void *arg)
{
    struct client *c = arg;

    client_pump(c);
    return strstr(c->received, "\r\n0\r\n\r\n") != NULL;
}

static void a_watcher_sees_the_state_at_once_each_change_and_the_end(void **state)
{
    struct api_world *w = *state;
    char *id = start_session(w, "{\"hz\":99}"), request[128], target[96];
    struct client *watcher = client_unix(w->path);
    const char *last = NULL;

    (void)snprintf(request, sizeof(request),
                   "GET /api/v1/sessions/%s/events HTTP/1.1\r\nHost: h\r\n\r\n", id);
    client_send(&w->loop, watcher, request);
    (void)snprintf(target, sizeof(target), "/api/v1/sessions/%s/rate", id);
    json_decref(ask(w, "POST", target, "{\"hz\":199}", 200));
    loop_until(&w->loop, has_rate_199, watcher);
    assert_non_null(strstr(watcher->received, "event: session\ndata: {\"id\":"));
    (void)snprintf(target, sizeof(target), "/api/v1/sessions/%s/stop", id);
    json_decref(ask(w, "POST", target, NULL, 200));
    control_tick(w->control, clock_mono(), clock_wall()); /* no host took part: it is over */
    loop_until(&w->loop, has_ended, watcher);
    for (const char *p = watcher->received; (p = strstr(p, "\"state\":\"")) != NULL; p++)
        last = p;
    assert_non_null(last);
    assert_true(strncmp(last, "\"state\":\"stopped\"", 17) == 0);
    client_free(watcher);
    free(id);
}

/* ---- metrics and pages ---- */

/* What promtool's lint asks for: help and type before each sample, counters end in _total and
 * nothing else does. */
static void assert_metrics_are_clean(char *text)
{
    char name[128] = "", type[16] = "", help[128] = "", sample[128], *rest = NULL;

    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        const char *total;

        if (sscanf(line, "# HELP %127s", help) == 1)
            continue;
        if (sscanf(line, "# TYPE %127s %15s", name, type) == 2) {
            assert_string_equal(name, help);
            total = strstr(name, "_total");
            assert_int_equal(total != NULL && total[6] == '\0', strcmp(type, "counter") == 0);
            continue;
        }
        assert_int_equal(sscanf(line, "%127[a-z0-9_]", sample), 1);
        assert_string_equal(sample, name);
        assert_true(strncmp(sample, "fleetprof_", 10) == 0);
    }
}

static void metrics_are_in_the_form_that_prometheus_wants(void **state)
{
    struct api_world *w = *state;

    free(start_session(w, "{}"));
    json_decref(ask(w, "GET", "/metrics", NULL, 200));
    assert_non_null(strstr(w->client->received, "text/plain; version=0.0.4"));
    assert_non_null(strstr(client_body(w->client), "\nfleetprof_control_session_starts_total 1\n"));
    assert_non_null(strstr(client_body(w->client), "\nfleetprof_link_frames_in_total 7\n"));
    assert_non_null(strstr(client_body(w->client), "\nfleetprof_link_connections_open 1\n"));
    assert_metrics_are_clean((char *)(uintptr_t)client_body(w->client));
}

static void the_overview_page_may_talk_to_this_server_alone(void **state)
{
    struct api_world *w = *state;

    json_decref(ask(w, "GET", "/", NULL, 200));
    assert_non_null(strstr(w->client->received, "Content-Security-Policy: default-src 'none'"));
    assert_non_null(strstr(client_body(w->client), "<html"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        api_test(status_shows_the_whole_at_a_glance),
        api_test(a_session_starts_with_what_was_asked_or_with_defaults),
        api_test(on_tcp_an_owner_without_a_name_is_anonymous),
        api_test(faulty_commands_are_told_what_would_be_right),
        api_test(an_owner_or_note_over_its_limit_is_refused_and_one_at_it_is_kept),
        api_test(rate_and_stop_change_the_session_and_only_its_owner_may_if_one_is_named),
        api_test(sessions_are_listed_newest_first_up_to_the_limit),
        api_test(agents_are_listed_with_labels_plans_and_costs),
        api_test(a_watcher_sees_the_state_at_once_each_change_and_the_end),
        api_test(metrics_are_in_the_form_that_prometheus_wants),
        api_test(the_overview_page_may_talk_to_this_server_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
