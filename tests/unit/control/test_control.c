/* Control: what hosts are told while sessions start, overlap, change and stop. */
#include <stdio.h>
#include <string.h>

#include "world.h"

enum { PERIOD_99 = NS_PER_S / 99, PERIOD_199 = NS_PER_S / 199 };

static void hello(struct world *w, unsigned link, const char *host, const char *labels)
{
    says_hello(w, link, (struct hello_of){.host = host, .labels = labels, .incarnation = link});
}

static void keep_status(void *arg, enum status st, uint64_t session)
{
    (void)session;
    *(enum status *)arg = st;
}

static void everyone_who_says_hello_is_welcomed_and_given_a_plan(void **state)
{
    struct world *w = *state;

    hello(w, 1, "web-1", NULL);
    assert_int_equal(said_to(w, 1)->welcomes, 1);
    assert_int_equal(said_to(w, 1)->plans, 1);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0); /* ends whatever still runs there */
}

static void a_session_reaches_the_hosts_it_selects_and_no_others(void **state)
{
    struct world *w = *state;
    uint64_t s;

    hello(w, 1, "web-1", "service=checkout");
    hello(w, 2, "web-2", "service=checkout");
    hello(w, 3, "db-1", "service=database");
    s = starts(w, "service=checkout", 99, 30);
    assert_int_equal(only_item(w, 1)->period_ns, PERIOD_99);
    assert_int_equal(only_item(w, 1)->remaining_ns, 30 * NS_PER_S);
    assert_int_equal(only_item(w, 1)->event, EVENT_CPU);
    assert_false(id128_equal(only_item(w, 1)->profiler, only_item(w, 2)->profiler));
    assert_int_equal(said_to(w, 3)->plans, 1);
    assert_int_equal(view_of(w, s).hosts, 2);
    assert_int_equal(view_of(w, s).by_state[HOST_SENT], 2);
}

static void a_host_can_be_selected_by_its_name(void **state)
{
    struct world *w = *state;

    hello(w, 1, "web-1", NULL);
    hello(w, 2, "web-2", NULL);
    starts(w, "host=web-2", 99, 30);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    assert_int_equal(said_to(w, 2)->plan.item_count, 1);
}

static void no_plan_leaves_before_its_profiler_is_durable(void **state)
{
    struct world *w = *state;
    struct session_request r = {.hz = 99, .event = EVENT_CPU, .duration_ns = 30 * NS_PER_S};
    enum status done = ST_BAD_STATE;
    char why[CONTROL_WHY_MAX];
    struct store_view *v;
    struct profiler_record record;

    hello(w, 1, "web-1", NULL);
    assert_int_equal(control_start(w->control, &r, w->wall, keep_status, &done, why), ST_OK);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    assert_int_equal(done, ST_BAD_STATE); /* nobody was told yet */
    world_settle(w);
    assert_int_equal(done, ST_OK);
    assert_int_equal(store_view_open(w->store, &v), ST_OK);
    assert_int_equal(profiler_record_load(v, only_item(w, 1)->profiler, &record), ST_OK);
    assert_string_equal(record.host, "web-1");
    assert_string_equal(labels_get(&record.labels, "host"), "web-1");
    profiler_record_deinit(&record);
    store_view_close(v);
}

static void overlapping_sessions_share_one_profiler_at_the_highest_rate(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    uint64_t slow, fast;

    hello(w, 1, "web-1", NULL);
    slow = starts(w, "", 99, 60);
    profiler = only_item(w, 1)->profiler;
    fast = starts(w, "host=web-1", 199, 30);
    assert_true(id128_equal(only_item(w, 1)->profiler, profiler));
    assert_int_equal(only_item(w, 1)->period_ns, PERIOD_199);
    assert_int_equal(only_item(w, 1)->remaining_ns, 60 * NS_PER_S);
    assert_true(id128_equal(host_of(w, slow, "web-1")->profiler, profiler));
    assert_true(id128_equal(host_of(w, fast, "web-1")->profiler, profiler));
}

static void a_stop_ends_its_own_session_alone(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    uint64_t slow, fast;

    hello(w, 1, "web-1", NULL);
    slow = starts(w, "", 99, 60);
    fast = starts(w, "", 199, 60);
    profiler = only_item(w, 1)->profiler;
    stops(w, fast);
    assert_true(id128_equal(only_item(w, 1)->profiler, profiler));
    assert_int_equal(only_item(w, 1)->period_ns, PERIOD_99);
    assert_int_equal(state_of(w, slow), SESSION_RUNNING);
    assert_int_equal(state_of(w, fast), SESSION_DRAINING);
    stops(w, slow);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
}

static void the_end_of_the_fastest_session_lowers_the_rate(void **state)
{
    struct world *w = *state;

    hello(w, 1, "web-1", NULL);
    starts(w, "", 99, 60);
    starts(w, "", 199, 10);
    world_pass(w, 9);
    assert_int_equal(only_item(w, 1)->period_ns, PERIOD_199);
    world_pass(w, 1);
    assert_int_equal(only_item(w, 1)->period_ns, PERIOD_99);
    assert_int_equal(only_item(w, 1)->remaining_ns, 50 * NS_PER_S);
}

static void a_changed_rate_goes_out_under_the_same_profiler(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    enum status done = ST_BAD_STATE;
    char why[CONTROL_WHY_MAX];
    uint64_t s;

    hello(w, 1, "web-1", NULL);
    s = starts(w, "", 99, 60);
    profiler = only_item(w, 1)->profiler;
    assert_int_equal(control_rate(w->control, s, 199, w->wall, keep_status, &done, why), ST_OK);
    world_settle(w);
    assert_int_equal(done, ST_OK);
    assert_int_equal(only_item(w, 1)->period_ns, PERIOD_199);
    assert_true(id128_equal(only_item(w, 1)->profiler, profiler));
    assert_int_equal(view_of(w, s).record->hz, 199);
}

static void a_profiler_that_left_the_plan_is_never_taken_up_again(void **state)
{
    struct world *w = *state;
    struct id128 first;

    hello(w, 1, "web-1", NULL);
    uint64_t s = starts(w, "", 99, 60);
    first = only_item(w, 1)->profiler;
    stops(w, s);
    starts(w, "", 99, 60);
    assert_false(id128_equal(only_item(w, 1)->profiler, first));
}

static void a_host_that_appears_later_joins(void **state)
{
    struct world *w = *state;
    uint64_t s = starts(w, "service=checkout", 99, 60);

    assert_int_equal(view_of(w, s).hosts, 0);
    world_pass(w, 10);
    hello(w, 1, "web-1", "service=checkout");
    assert_int_equal(only_item(w, 1)->remaining_ns, 50 * NS_PER_S);
    assert_int_equal(view_of(w, s).hosts, 1);
    assert_int_equal(view_of(w, s).record->members[0].from.ns, w->wall.ns);
}

static void a_host_whose_labels_no_longer_match_leaves(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    uint64_t s;

    hello(w, 1, "web-1", "service=checkout");
    s = starts(w, "service=checkout", 99, 60);
    profiler = only_item(w, 1)->profiler;
    world_pass(w, 5);
    says_hello(
        w, 2,
        (struct hello_of){
            .host = "web-1", .labels = "service=search", .incarnation = 1, .running = {profiler}});
    assert_int_equal(said_to(w, 2)->plan.item_count, 0);
    assert_int_equal(view_of(w, s).record->members[0].to.ns, w->wall.ns);
    assert_int_equal(state_of(w, s), SESSION_RUNNING);
}

static void nothing_begins_for_a_session_past_its_end(void **state)
{
    struct world *w = *state;

    starts(w, "", 99, 10);
    world_pass(w, 10);
    hello(w, 1, "web-1", NULL);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
}

static void only_the_owner_stops_a_session_when_asked_for(void **state)
{
    struct world *w = *state;
    enum status done = ST_OK;
    char why[CONTROL_WHY_MAX] = "";
    uint64_t s = starts(w, "", 99, 60);

    assert_int_equal(control_stop(w->control, s, "eve", w->wall, keep_status, &done, why),
                     ST_DENIED);
    assert_non_null(strstr(why, "ops"));
    assert_int_equal(state_of(w, s), SESSION_RUNNING);
    assert_int_equal(control_stop(w->control, s, "ops", w->wall, keep_status, &done, why), ST_OK);
    world_settle(w);
    assert_int_equal(state_of(w, s), SESSION_STOPPED); /* no host, so nothing to drain */
    assert_int_equal(control_stop(w->control, s, NULL, w->wall, keep_status, &done, why),
                     ST_BAD_STATE);
    assert_int_equal(control_stop(w->control, s + 1, NULL, w->wall, keep_status, &done, why),
                     ST_NOT_FOUND);
    assert_int_equal(control_rate(w->control, s, 199, w->wall, keep_status, &done, why),
                     ST_BAD_STATE);
}

static void wrong_wishes_are_named(void **state)
{
    struct world *w = *state;
    const struct session_request good = {
        .event = EVENT_CPU, .hz = 99, .duration_ns = 30 * NS_PER_S, .owner = "ops"};
    char why[CONTROL_WHY_MAX] = "", long_text[SESSION_NOTE_MAX + 2];
    struct session_request r;

    r = good;
    r.hz = 0;
    assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_INVALID);
    assert_non_null(strstr(why, "0 Hz"));
    r = good;
    r.duration_ns = CONTROL_SESSION_NS_MAX + 1;
    assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_INVALID);
    r = good;
    r.event = EVENT_NONE;
    assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_INVALID);
    r = good;
    r.selector = "service=~(";
    assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_INVALID);
    assert_true(why[0] != '\0');
    memset(long_text, 'x', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    r = good;
    r.note = long_text;
    assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_INVALID);
    assert_int_equal(control_read_counters(w->control).sessions_live, 0);
}

static void live_sessions_have_a_limit(void **state)
{
    struct world *w = *state;
    struct session_request r = {.event = EVENT_CPU, .hz = 99, .duration_ns = 30 * NS_PER_S};
    char why[CONTROL_WHY_MAX];

    for (unsigned i = 0; i < CONTROL_SESSIONS_MAX; i++)
        assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_OK);
    assert_int_equal(control_start(w->control, &r, w->wall, NULL, NULL, why), ST_FULL);
    world_settle(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(everyone_who_says_hello_is_welcomed_and_given_a_plan),
        world_test(a_session_reaches_the_hosts_it_selects_and_no_others),
        world_test(a_host_can_be_selected_by_its_name),
        world_test(no_plan_leaves_before_its_profiler_is_durable),
        world_test(overlapping_sessions_share_one_profiler_at_the_highest_rate),
        world_test(a_stop_ends_its_own_session_alone),
        world_test(the_end_of_the_fastest_session_lowers_the_rate),
        world_test(a_changed_rate_goes_out_under_the_same_profiler),
        world_test(a_profiler_that_left_the_plan_is_never_taken_up_again),
        world_test(a_host_that_appears_later_joins),
        world_test(a_host_whose_labels_no_longer_match_leaves),
        world_test(nothing_begins_for_a_session_past_its_end),
        world_test(only_the_owner_stops_a_session_when_asked_for),
        world_test(wrong_wishes_are_named),
        world_test(live_sessions_have_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
