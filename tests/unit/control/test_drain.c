/* Control at a session's end, and over its own: what completes, what is waited for, and what a
 * restart of the coordinator brings back. */
#include <stdio.h>
#include <string.h>

#include "world.h"

static void hello(struct world *w, unsigned link, const char *host)
{
    says_hello(w, link, (struct hello_of){.host = host, .incarnation = link});
}

static void says_hello_again(struct world *w, unsigned link, const char *host, uint64_t incarnation,
                             struct id128 running)
{
    says_hello(w, link,
               (struct hello_of){.host = host, .incarnation = incarnation, .running = {running}});
}

/* ---- the end of a session ---- */

static void a_session_completes_when_the_final_chunk_is_stored(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    p = only_item(w, 1)->profiler;
    stores_chunk(w, "web-1", p, 1, 0, 10, false);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_SAMPLING);
    world_pass(w, 20);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_DRAINING);
    stores_chunk(w, "web-1", p, 2, 10, 19, true);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_ENDED);
    assert_string_equal(host_of(w, s, "web-1")->reason, "");
    assert_int_equal(view_of(w, s).samples, 19 * 99);
    assert_int_equal(view_of(w, s).chunks, 2);
}

static void the_hosts_word_for_the_end_waits_for_the_chunks(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    p = only_item(w, 1)->profiler;
    stores_chunk(w, "web-1", p, 1, 0, 10, false);
    world_pass(w, 20);
    says_state(w, 1, p, PROFILER_ENDED, 2, "");
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    stores_chunk(w, "web-1", p, 2, 10, 20, true);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
}

static void a_host_that_ends_a_little_early_does_not_start_anew(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    p = only_item(w, 1)->profiler;
    world_pass(w, 19);
    w->wall.ns += NS_PER_S - CONTROL_BEGIN_NS / 2;
    says_state(w, 1, p, PROFILER_ENDED, 0, "");
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    assert_int_equal(view_of(w, s).record->member_count, 1);
    world_pass(w, 1);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
}

static void a_host_without_a_single_sample_ends_by_its_word(void **state)
{
    struct world *w = *state;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    world_pass(w, 20);
    says_state(w, 1, view_of(w, s).record->members[0].profiler, PROFILER_ENDED, 0, "");
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
}

static void a_stopped_session_ends_as_stopped(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 60);
    p = only_item(w, 1)->profiler;
    world_pass(w, 5);
    stops(w, s);
    assert_int_equal(view_of(w, s).record->ends.ns, w->wall.ns);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    stores_chunk(w, "web-1", p, 1, 0, 5, true);
    assert_int_equal(state_of(w, s), SESSION_STOPPED);
}

static void a_profiler_that_goes_on_for_others_settles_by_what_covers_the_end(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t brief, lasting;

    hello(w, 1, "web-1");
    brief = starts(w, "", 99, 15);
    lasting = starts(w, "", 99, 60);
    p = only_item(w, 1)->profiler;
    stores_chunk(w, "web-1", p, 1, 0, 10, false);
    world_pass(w, 16);
    assert_int_equal(state_of(w, brief), SESSION_DRAINING);
    stores_chunk(w, "web-1", p, 2, 10, 20, false);
    assert_int_equal(state_of(w, brief), SESSION_COMPLETED);
    assert_int_equal(state_of(w, lasting), SESSION_RUNNING);
    assert_int_equal(view_of(w, brief).samples, 15 * 99); /* half of the second chunk */
    assert_int_equal(view_of(w, lasting).samples, 20 * 99);
}

static void a_missing_chunk_keeps_the_session_waiting(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    p = only_item(w, 1)->profiler;
    world_pass(w, 20);
    stores_chunk(w, "web-1", p, 2, 10, 20, true);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    stores_chunk(w, "web-1", p, 1, 0, 10, false);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
}

static void an_empty_spool_long_after_the_end_proves_that_nothing_more_comes(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    p = only_item(w, 1)->profiler;
    world_pass(w, 20);
    says_state(w, 1, p, PROFILER_ENDED, 2, "");
    stores_chunk(w, "web-1", p, 2, 10, 20, true); /* the first was given up by the spool */
    says_heartbeat(w, 1, 0);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    world_pass(w, 10);
    says_heartbeat(w, 1, 3); /* not empty */
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    says_heartbeat(w, 1, 0);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
    assert_string_equal(host_of(w, s, "web-1")->reason, "chunks are missing: the ledger has them");
}

static void a_host_that_stays_away_is_given_up(void **state)
{
    struct world *w = *state;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 10);
    control_gone(w->control, world_link(1), w->now);
    world_pass(w, 10);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_AWAY);
    world_pass(w, CONTROL_AWAY_NS / NS_PER_S - 11);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    world_pass(w, 1);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
}

static void chunks_that_come_after_the_end_are_still_counted(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 10);
    p = only_item(w, 1)->profiler;
    control_gone(w->control, world_link(1), w->now);
    world_pass(w, 200);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
    stores_chunk(w, "web-1", p, 1, 0, 10, true);
    assert_int_equal(view_of(w, s).samples, 990);
}

static void a_killed_agents_spool_is_waited_for(void **state)
{
    struct world *w = *state;
    struct id128 first;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    first = only_item(w, 1)->profiler;
    world_pass(w, 15);
    says_hello(w, 2, (struct hello_of){.host = "web-1", .incarnation = 99});
    stores_chunk(w, "web-1", only_item(w, 2)->profiler, 1, 15, 20, true);
    world_pass(w, 5);
    assert_int_equal(state_of(w, s), SESSION_DRAINING); /* of the first life nothing is known */
    stores_chunk(w, "web-1", first, 1, 0, 10, false);
    says_heartbeat(w, 2, 1);
    world_pass(w, 10);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    says_heartbeat(w, 2, 0);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
    assert_int_equal(view_of(w, s).samples, 15 * 99);
    assert_int_equal(view_of(w, s).hosts, 1);
}

/* ---- the end of the coordinator ---- */

static void a_running_session_goes_on_over_a_restart(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s, revision;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 60);
    p = only_item(w, 1)->profiler;
    revision = said_to(w, 1)->plan.revision;
    stores_chunk(w, "web-1", p, 1, 0, 10, false);
    world_pass(w, 10);
    world_restart(w);
    assert_int_equal(state_of(w, s), SESSION_RUNNING);
    assert_int_equal(view_of(w, s).samples, 990);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_AWAY);
    says_hello(
        w, 1,
        (struct hello_of){.host = "web-1", .incarnation = 1, .revision = revision, .running = {p}});
    assert_true(id128_equal(only_item(w, 1)->profiler, p));
    assert_int_equal(only_item(w, 1)->remaining_ns, 50 * NS_PER_S);
    assert_true(said_to(w, 1)->plan.revision > revision);
    assert_int_equal(view_of(w, s).record->member_count, 1); /* without a gap */
    assert_int_equal(view_of(w, s).record->members[0].to.ns, 0);
    stores_chunk(w, "web-1", p, 2, 10, 20, false);
    assert_int_equal(view_of(w, s).samples, 20 * 99);
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_SAMPLING);
}

static void nothing_runs_again_that_ended_while_the_coordinator_was_down(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 20);
    p = only_item(w, 1)->profiler;
    w->wall.ns += 60 * NS_PER_S;
    w->now.ns += 60 * NS_PER_S;
    world_restart(w);
    says_hello_again(w, 1, "web-1", 1, p);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    world_pass(w, 1);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    assert_int_equal(view_of(w, s).record->members[0].to.ns, view_of(w, s).record->ends.ns);
    stores_chunk(w, "web-1", p, 1, 0, 20, true);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
}

static void a_profiler_lost_during_a_restart_is_replaced(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 60);
    p = only_item(w, 1)->profiler;
    world_restart(w);
    says_hello(w, 1, (struct hello_of){.host = "web-1", .incarnation = 1});
    assert_false(id128_equal(only_item(w, 1)->profiler, p));
    assert_int_equal(view_of(w, s).record->member_count, 2);
}

static void a_stopped_session_is_remembered_as_such_over_a_restart(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 60);
    p = only_item(w, 1)->profiler;
    world_pass(w, 5);
    stops(w, s);
    world_restart(w);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    says_hello_again(w, 1, "web-1", 1, p);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    stores_chunk(w, "web-1", p, 1, 0, 5, true);
    assert_int_equal(state_of(w, s), SESSION_STOPPED);
}

static void an_ended_session_is_counted_again_when_it_is_looked_at(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 10);
    p = only_item(w, 1)->profiler;
    stores_chunk(w, "web-1", p, 1, 0, 10, true);
    world_pass(w, 10);
    assert_int_equal(state_of(w, s), SESSION_COMPLETED);
    world_restart(w);
    assert_int_equal(view_of(w, s).samples, 990);
    assert_int_equal(view_of(w, s).samples, 990); /* and not once more */
    assert_int_equal(host_of(w, s, "web-1")->state, HOST_ENDED);
    assert_string_equal(host_of(w, s, "web-1")->reason, "");
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

static void the_inventory_outlives_a_restart(void **state)
{
    struct world *w = *state;
    struct one_agent one = {0};

    says_hello(w, 1,
               (struct hello_of){.host = "web-1", .labels = "zone=eu-1", .incarnation = 0xabc});
    world_restart(w);
    control_each_agent(w->control, take_view, &one);
    assert_int_equal(one.count, 1);
    assert_string_equal(labels_get(one.view.labels, "zone"), "eu-1");
    assert_int_equal(one.view.incarnation, 0xabc);
    assert_int_equal(one.view.last_seen.ns, w->wall.ns);
    assert_false(one.view.connected);
}

static void an_agent_that_also_restarted_leaves_its_old_profiler_closed(void **state)
{
    struct world *w = *state;
    struct id128 p;
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 60);
    p = only_item(w, 1)->profiler;
    world_restart(w);
    says_hello(w, 1, (struct hello_of){.host = "web-1", .incarnation = 2});
    assert_false(id128_equal(only_item(w, 1)->profiler, p));
    world_restart(w); /* and once more, with both records there */
    p = view_of(w, s).record->members[1].profiler;
    says_hello_again(w, 1, "web-1", 2, p);
    assert_true(id128_equal(only_item(w, 1)->profiler, p));
    assert_int_equal(view_of(w, s).record->member_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_session_completes_when_the_final_chunk_is_stored),
        world_test(the_hosts_word_for_the_end_waits_for_the_chunks),
        world_test(a_host_that_ends_a_little_early_does_not_start_anew),
        world_test(a_host_without_a_single_sample_ends_by_its_word),
        world_test(a_stopped_session_ends_as_stopped),
        world_test(a_profiler_that_goes_on_for_others_settles_by_what_covers_the_end),
        world_test(a_missing_chunk_keeps_the_session_waiting),
        world_test(an_empty_spool_long_after_the_end_proves_that_nothing_more_comes),
        world_test(a_host_that_stays_away_is_given_up),
        world_test(chunks_that_come_after_the_end_are_still_counted),
        world_test(a_killed_agents_spool_is_waited_for),
        world_test(a_running_session_goes_on_over_a_restart),
        world_test(nothing_runs_again_that_ended_while_the_coordinator_was_down),
        world_test(a_profiler_lost_during_a_restart_is_replaced),
        world_test(a_stopped_session_is_remembered_as_such_over_a_restart),
        world_test(an_ended_session_is_counted_again_when_it_is_looked_at),
        world_test(the_inventory_outlives_a_restart),
        world_test(an_agent_that_also_restarted_leaves_its_old_profiler_closed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
