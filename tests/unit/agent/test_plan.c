/* plan: what is wanted, until when, and which plans change nothing. */
#include "agent/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agent/cost.h"
#include "common/chunk.h"

static const struct mono now = {50 * NS_PER_S};

static struct plan one_item(uint64_t revision)
{
    return (struct plan){.revision = revision,
                         .item_count = 1,
                         .items = {{.profiler = {{1}},
                                    .event = EVENT_CPU,
                                    .period_ns = NS_PER_S / 99,
                                    .remaining_ns = 60 * NS_PER_S,
                                    .chunk_ns = 10 * NS_PER_S}}};
}

static void an_item_is_wanted_until_its_deadline_and_not_after(void **state)
{
    struct plan_state s = {0};
    struct plan p = one_item(1);
    const struct plan_wish *w;

    (void)state;
    assert_null(plan_wanted(&s, EVENT_CPU, now));
    assert_int_equal(plan_accept(&s, &p, now), ST_OK);
    w = plan_wanted(&s, EVENT_CPU, mono_after(now, 60 * NS_PER_S - 1));
    assert_non_null(w);
    assert_int_equal(w->item.period_ns, NS_PER_S / 99);
    assert_null(plan_wanted(&s, EVENT_CPU, mono_after(now, 60 * NS_PER_S)));
}

static void a_deadline_past_all_time_does_not_wrap(void **state)
{
    struct plan_state s = {0};
    struct plan p = one_item(1);

    (void)state;
    p.items[0].remaining_ns = UINT64_MAX;
    assert_int_equal(plan_accept(&s, &p, now), ST_OK);
    assert_non_null(plan_wanted(&s, EVENT_CPU, mono_after(now, UINT64_C(1) << 62)));
}

static void repeats_and_older_revisions_change_nothing(void **state)
{
    struct plan_state s = {0};
    struct plan newer = one_item(7), older = one_item(6);

    (void)state;
    assert_int_equal(plan_accept(&s, &newer, now), ST_OK);
    older.item_count = 0;
    assert_int_equal(plan_accept(&s, &older, now), ST_EXISTS);
    assert_int_equal(plan_accept(&s, &newer, mono_after(now, 59 * NS_PER_S)), ST_EXISTS);
    assert_int_equal(s.revision, 7);
    assert_null(plan_wanted(&s, EVENT_CPU, mono_after(now, 60 * NS_PER_S))); /* not extended */
}

static void a_plan_replaces_the_one_before(void **state)
{
    struct plan_state s = {0};
    struct plan p = one_item(1), empty = {.revision = 2};

    (void)state;
    assert_int_equal(plan_accept(&s, &p, now), ST_OK);
    assert_int_equal(plan_accept(&s, &empty, now), ST_OK);
    assert_null(plan_wanted(&s, EVENT_CPU, now));
    assert_int_equal(s.revision, 2);
}

static void one_item_out_of_range_spoils_the_plan(void **state)
{
    static const struct {
        uint64_t period_ns, chunk_ns;
        enum status status;
    } cases[] = {
        {NS_PER_S / HZ_MAX, NS_PER_S, ST_OK},
        {NS_PER_S / HZ_MIN, CHUNK_WINDOW_MAX_NS, ST_OK},
        {NS_PER_S / HZ_MAX - 1, NS_PER_S, ST_INVALID},
        {NS_PER_S / HZ_MIN + 1, NS_PER_S, ST_INVALID},
        {0, NS_PER_S, ST_INVALID},
        {NS_PER_MS, NS_PER_S - 1, ST_INVALID},
        {NS_PER_MS, CHUNK_WINDOW_MAX_NS + 1, ST_INVALID},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct plan_state s = {0}, before = {0};
        struct plan p = one_item(1);

        p.items[1] = p.items[0];
        p.items[1].period_ns = cases[i].period_ns;
        p.items[1].chunk_ns = cases[i].chunk_ns;
        p.item_count = 2;
        assert_int_equal(plan_accept(&s, &p, now), cases[i].status);
        if (cases[i].status != ST_OK)
            assert_memory_equal(&s, &before, sizeof(s));
    }
}

static void more_items_than_a_plan_holds_are_refused(void **state)
{
    struct plan_state s = {0};
    struct plan p = one_item(1);

    (void)state;
    p.item_count = MESSAGE_PLAN_ITEMS_MAX + 1;
    assert_int_equal(plan_accept(&s, &p, now), ST_INVALID);
    assert_int_equal(s.wish_count, 0);
}

static void an_unknown_event_is_kept_for_whoever_refuses_it(void **state)
{
    struct plan_state s = {0};
    struct plan p = one_item(1);

    (void)state;
    p.items[0].event = EVENT_NONE;
    p.items[0].period_ns = 0;
    assert_int_equal(plan_accept(&s, &p, now), ST_OK);
    assert_int_equal(s.wish_count, 1);
    assert_null(plan_wanted(&s, EVENT_CPU, now));
}

static void the_cost_of_a_process_only_grows(void **state)
{
    struct agent_cost before = {.bytes_sent = 5}, after = {0};

    (void)state;
    cost_read_process(&before);
    assert_int_equal(before.bytes_sent, 5);
    assert_true(before.rss_bytes > 64 << 10);
    do
        cost_read_process(&after);
    while (after.user_ns + after.system_ns == before.user_ns + before.system_ns);
    assert_true(after.user_ns >= before.user_ns);
    assert_true(after.system_ns >= before.system_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_item_is_wanted_until_its_deadline_and_not_after),
        cmocka_unit_test(a_deadline_past_all_time_does_not_wrap),
        cmocka_unit_test(repeats_and_older_revisions_change_nothing),
        cmocka_unit_test(a_plan_replaces_the_one_before),
        cmocka_unit_test(one_item_out_of_range_spoils_the_plan),
        cmocka_unit_test(more_items_than_a_plan_holds_are_refused),
        cmocka_unit_test(an_unknown_event_is_kept_for_whoever_refuses_it),
        cmocka_unit_test(the_cost_of_a_process_only_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
