/* Control and its agents: whose word counts, what becomes of connections, and what follows when a
 * host refuses, fails or starts anew. */
#include <stdio.h>
#include <string.h>

#include "world.h"

enum { PERIOD_99 = NS_PER_S / 99 };

static void hello(struct world *w, unsigned link, const char *host, const char *labels)
{
    says_hello(w, link, (struct hello_of){.host = host, .labels = labels, .incarnation = link});
}

static void a_newer_connection_of_a_host_replaces_the_older(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    uint64_t revision;

    hello(w, 1, "web-1", NULL);
    starts(w, "", 99, 60);
    profiler = only_item(w, 1)->profiler;
    revision = said_to(w, 1)->plan.revision;
    says_hello(w, 2,
               (struct hello_of){
                   .host = "web-1", .incarnation = 1, .revision = revision, .running = {profiler}});
    assert_int_equal(said_to(w, 1)->refusal, REFUSAL_REPLACED);
    assert_true(said_to(w, 1)->closed);
    assert_true(id128_equal(only_item(w, 2)->profiler, profiler));
    assert_true(said_to(w, 2)->plan.revision > revision);
    control_gone(w->control, world_link(1), w->now); /* the older one's end changes nothing */
    assert_int_equal(control_read_counters(w->control).connected, 1);
    assert_int_equal(control_read_counters(w->control).replaced, 1);
}

static void a_revision_that_none_could_follow_is_refused(void **state)
{
    struct world *w = *state;
    struct hello h = {.host = "web-1", .incarnation = 1, .plan_revision = CONTROL_REVISION_MAX + 1};
    char why[CONTROL_WHY_MAX] = "";

    assert_int_equal(control_hello(w->control, world_link(1), &h, w->now, w->wall, why),
                     ST_INVALID);
    assert_non_null(strstr(why, "plan revision 4611686018427387905"));
    assert_int_equal(control_read_counters(w->control).connected, 0);
    says_hello(
        w, 1,
        (struct hello_of){.host = "web-1", .incarnation = 1, .revision = CONTROL_REVISION_MAX});
    starts(w, "", 99, 60);
    assert_true(said_to(w, 1)->plan.revision > CONTROL_REVISION_MAX);
}

static void silence_by_the_time_of_receipt_closes_a_connection(void **state)
{
    struct world *w = *state;

    hello(w, 1, "web-1", NULL);
    world_pass(w, 20);
    says_heartbeat(w, 1, 0);
    world_pass(w, 29);
    assert_false(said_to(w, 1)->closed);
    world_pass(w, 1);
    assert_true(said_to(w, 1)->closed);
    assert_int_equal(control_read_counters(w->control).timed_out, 1);
    assert_int_equal(control_read_counters(w->control).connected, 0);
}

static void any_message_is_a_sign_of_life(void **state)
{
    struct world *w = *state;

    hello(w, 1, "web-1", NULL);
    for (unsigned i = 0; i < 5; i++) {
        world_pass(w, 20);
        control_heard(w->control, world_link(1), w->now);
    }
    assert_false(said_to(w, 1)->closed);
}

static void acknowledgements_count_once_and_only_for_what_was_sent(void **state)
{
    struct world *w = *state;
    uint64_t s, revision;

    hello(w, 1, "web-1", NULL);
    s = starts(w, "", 99, 60);
    revision = said_to(w, 1)->plan.revision;
    acknowledges(w, 1, revision + 1); /* never sent */
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_SENT);
    acknowledges(w, 1, revision - 1); /* an older plan, without the profiler */
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_SENT);
    acknowledges(w, 1, revision);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_ACCEPTED);
    acknowledges(w, 1, revision - 1); /* late */
    acknowledges(w, 1, revision); /* again */
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_ACCEPTED);
}

static void an_unacknowledged_plan_is_sent_again_with_what_remains(void **state)
{
    struct world *w = *state;
    uint64_t revision;

    hello(w, 1, "web-1", NULL);
    starts(w, "", 99, 60);
    revision = said_to(w, 1)->plan.revision;
    world_pass(w, 20);
    says_heartbeat(w, 1, 0);
    assert_int_equal(said_to(w, 1)->plans, 2);
    world_pass(w, 10);
    assert_int_equal(said_to(w, 1)->plans, 3);
    assert_int_equal(said_to(w, 1)->plan.revision, revision);
    assert_int_equal(only_item(w, 1)->remaining_ns, 30 * NS_PER_S);
    acknowledges(w, 1, revision);
    world_pass(w, 29);
    assert_int_equal(said_to(w, 1)->plans, 3);
}

static void states_follow_what_the_host_reports(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    uint64_t s;

    hello(w, 1, "web-1", NULL);
    s = starts(w, "", 99, 60);
    profiler = only_item(w, 1)->profiler;
    says_state(w, 1, profiler, PROFILER_ATTACHED, 0, "");
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_ATTACHED);
    says_state(w, 1, profiler, PROFILER_SAMPLING, 0, "");
    says_state(w, 1, profiler, PROFILER_ACCEPTED, 0, ""); /* late */
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_SAMPLING);
    control_gone(w->control, world_link(1), w->now);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_AWAY);
}

static void another_host_cannot_speak_for_a_profiler(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    uint64_t s;

    hello(w, 1, "web-1", NULL);
    hello(w, 2, "web-2", NULL);
    s = starts(w, "host=web-1", 99, 60);
    profiler = only_item(w, 1)->profiler;
    says_state(w, 2, profiler, PROFILER_ENDED, 0, "");
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_SENT);
    stores_chunk(w, "web-2", profiler, 1, 0, 10, false);
    assert_int_equal(view_of(w, s).chunks, 0);
}

static void a_refusal_is_shown_and_not_asked_again_at_once(void **state)
{
    struct world *w = *state;
    struct id128 profiler;
    uint64_t s;

    hello(w, 1, "web-1", NULL);
    s = starts(w, "", 99, 3600);
    profiler = only_item(w, 1)->profiler;
    says_state(w, 1, profiler, PROFILER_REFUSED, 0, "no permission for perf events");
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_REFUSED);
    assert_string_equal(host_of(w, s, "web-1")->reason, "no permission for perf events");
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    for (unsigned i = 0; i < 29; i++) {
        world_pass(w, 10);
        says_heartbeat(w, 1, 0);
        acknowledges(w, 1, said_to(w, 1)->plan.revision);
        assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    }
    world_pass(w, 10);
    assert_false(id128_equal(only_item(w, 1)->profiler, profiler));
}

static void a_profiler_that_ended_by_itself_is_followed_by_another(void **state)
{
    struct world *w = *state;
    struct id128 first, second;

    hello(w, 1, "web-1", NULL);
    starts(w, "", 99, 60);
    first = only_item(w, 1)->profiler;
    says_state(w, 1, first, PROFILER_ENDED, 0, "the ring buffer broke");
    assert_int_equal(said_to(w, 1)->plan.item_count, 0); /* it was too young */
    world_pass(w, 5);
    second = only_item(w, 1)->profiler;
    assert_false(id128_equal(first, second));
    world_pass(w, 6);
    says_state(w, 1, second, PROFILER_ENDED, 0, "again");
    assert_false(id128_equal(only_item(w, 1)->profiler, second)); /* at once: it was old enough */
}

static void a_restarted_agent_gets_new_profilers(void **state)
{
    struct world *w = *state;
    struct id128 first, second;
    struct store_view *v;
    struct profiler_record record;
    struct wall seen;
    uint64_t s;

    hello(w, 1, "web-1", NULL);
    s = starts(w, "", 99, 60);
    first = only_item(w, 1)->profiler;
    world_pass(w, 5);
    control_heartbeat(w->control, world_link(1), &(struct heartbeat){0}, w->now, w->wall);
    seen = w->wall;
    world_pass(w, 10);
    says_hello(w, 2, (struct hello_of){.host = "web-1", .incarnation = 77});
    second = only_item(w, 2)->profiler;
    assert_false(id128_equal(first, second));

    assert_int_equal(view_of(w, s).hosts, 1);
    assert_int_equal(view_of(w, s).record->member_count, 2);
    assert_int_equal(view_of(w, s).record->members[0].to.ns, w->wall.ns);
    assert_int_equal(view_of(w, s).record->members[1].to.ns, 0);
    assert_int_equal(store_view_open(w->store, &v), ST_OK);
    assert_int_equal(profiler_record_load(v, first, &record), ST_OK);
    assert_int_equal(record.ended.ns, seen.ns);
    profiler_record_deinit(&record);
    store_view_close(v);
}

static void a_profiler_lost_on_its_host_is_not_begun_again(void **state)
{
    struct world *w = *state;
    struct id128 first;

    hello(w, 1, "web-1", NULL);
    starts(w, "", 99, 60);
    first = only_item(w, 1)->profiler;
    control_gone(w->control, world_link(1), w->now);
    says_hello(w, 2, (struct hello_of){.host = "web-1", .incarnation = 1}); /* runs nothing */
    assert_false(id128_equal(only_item(w, 2)->profiler, first));
}

struct one_agent {
    struct agent_view view;
    uint32_t count;
};

static void take_view(void *arg, const struct agent_view *a)
{
    struct one_agent *one = arg;

    one->view = *a;
    one->count++;
}

static void the_inventory_shows_who_was_there(void **state)
{
    struct world *w = *state;
    struct one_agent one = {0};

    hello(w, 1, "web-1", "service=checkout");
    starts(w, "", 99, 60);
    acknowledges(w, 1, said_to(w, 1)->plan.revision);
    world_pass(w, 3);
    control_gone(w->control, world_link(1), w->now);
    control_each_agent(w->control, take_view, &one);
    assert_int_equal(one.count, 1);
    assert_string_equal(one.view.host, "web-1");
    assert_string_equal(labels_get(one.view.labels, "service"), "checkout");
    assert_false(one.view.connected);
    assert_int_equal(one.view.last_seen.ns, w->wall.ns - 3 * NS_PER_S);
    assert_int_equal(one.view.running_count, 1);
    assert_int_equal(one.view.running[0].period_ns, PERIOD_99);
    assert_int_equal(one.view.running[0].state, PROFILER_ACCEPTED);
    assert_int_equal(one.view.plan_revision, one.view.acked_revision);
}

static void what_has_ended_is_not_shown_as_running(void **state)
{
    struct world *w = *state;
    struct one_agent one = {0};
    struct id128 profiler;

    hello(w, 1, "web-1", NULL);
    uint64_t s = starts(w, "", 99, 60);
    profiler = only_item(w, 1)->profiler;
    says_state(w, 1, profiler, PROFILER_SAMPLING, 0, "");
    stops(w, s);
    says_state(w, 1, profiler, PROFILER_DRAINING, 0, "");
    control_each_agent(w->control, take_view, &one);
    assert_int_equal(one.view.running_count, 1);
    assert_int_equal(one.view.running[0].state, PROFILER_DRAINING);
    says_state(w, 1, profiler, PROFILER_ENDED, 0, "");
    control_each_agent(w->control, take_view, &one);
    assert_int_equal(one.view.running_count, 0);
}

static void an_agents_cost_is_what_it_took_between_two_heartbeats(void **state)
{
    struct world *w = *state;
    struct one_agent one = {0};
    struct heartbeat h = {.sent_mono = {100 * NS_PER_S},
                          .cost = {.user_ns = 8 * NS_PER_S, .system_ns = NS_PER_S}};

    hello(w, 1, "web-1", NULL);
    control_each_agent(w->control, take_view, &one);
    assert_true(one.view.core_share < 0);
    control_heartbeat(w->control, world_link(1), &h, w->now, w->wall);
    control_each_agent(w->control, take_view, &one);
    assert_true(one.view.core_share < 0); /* one alone says nothing */
    h.sent_mono.ns += 10 * NS_PER_S;
    h.cost.user_ns += NS_PER_S;
    h.cost.system_ns += NS_PER_S / 2;
    h.cost.bpf_ns += NS_PER_S;
    control_heartbeat(w->control, world_link(1), &h, w->now, w->wall);
    control_each_agent(w->control, take_view, &one);
    assert_true(one.view.core_share == 0.25);
}

static void lost_samples_are_told_as_a_share_of_the_host(void **state)
{
    struct world *w = *state;
    struct one_agent one = {0};
    struct chunk_info info = {.sequence = 1, .event = EVENT_CPU, .period_ns = 10101010};

    hello(w, 1, "web-1", NULL);
    (void)starts(w, "", 99, 60);
    info.profiler = only_item(w, 1)->profiler;
    control_each_agent(w->control, take_view, &one);
    assert_true(one.view.lost_share < 0);
    info.ledger = (struct ledger){.expected = 100, .delivered = 75, .lost = {[LOSS_RING] = 25}};
    control_chunk_stored(w->control, "web-1", &info);
    control_each_agent(w->control, take_view, &one);
    assert_true(one.view.lost_share == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_newer_connection_of_a_host_replaces_the_older),
        world_test(a_revision_that_none_could_follow_is_refused),
        world_test(silence_by_the_time_of_receipt_closes_a_connection),
        world_test(any_message_is_a_sign_of_life),
        world_test(acknowledgements_count_once_and_only_for_what_was_sent),
        world_test(an_unacknowledged_plan_is_sent_again_with_what_remains),
        world_test(states_follow_what_the_host_reports),
        world_test(another_host_cannot_speak_for_a_profiler),
        world_test(a_refusal_is_shown_and_not_asked_again_at_once),
        world_test(a_profiler_that_ended_by_itself_is_followed_by_another),
        world_test(a_restarted_agent_gets_new_profilers),
        world_test(a_profiler_lost_on_its_host_is_not_begun_again),
        world_test(the_inventory_shows_who_was_there),
        world_test(what_has_ended_is_not_shown_as_running),
        world_test(an_agents_cost_is_what_it_took_between_two_heartbeats),
        world_test(lost_samples_are_told_as_a_share_of_the_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
