/* The planner: what one host does when several sessions want something of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/control/planner.h"

static const struct wall now = {1000 * NS_PER_S};

static struct planner_need wish(uint32_t hz, uint64_t seconds)
{
    return (struct planner_need){hz, {now.ns + seconds * NS_PER_S}};
}

static void the_highest_rate_and_the_latest_end_win(void **state)
{
    struct planner p = {0};

    (void)state;
    planner_want(&p, EVENT_CPU, wish(99, 60), now);
    planner_want(&p, EVENT_CPU, wish(199, 10), now);
    planner_want(&p, EVENT_CPU, wish(19, 30), now);
    assert_int_equal(p.needs[EVENT_CPU].hz, 199);
    assert_int_equal(p.needs[EVENT_CPU].ends.ns, now.ns + 60 * NS_PER_S);
}

static void events_do_not_mix(void **state)
{
    struct planner p = {0};

    (void)state;
    planner_want(&p, EVENT_OFFCPU, wish(49, 60), now);
    assert_int_equal(p.needs[EVENT_OFFCPU].hz, 49);
    assert_int_equal(p.needs[EVENT_CPU].hz, 0);
}

static void a_wish_that_is_over_changes_nothing(void **state)
{
    struct planner p = {0};

    (void)state;
    planner_want(&p, EVENT_CPU, wish(199, 0), now);
    assert_int_equal(p.needs[EVENT_CPU].hz, 0);
}

static void an_item_goes_on_while_anyone_wants_it(void **state)
{
    struct planner_need wanted = wish(99, 10), unwanted = {0};

    (void)state;
    assert_int_equal(planner_step(&wanted, true, true), PLANNER_KEEP);
    assert_int_equal(planner_step(&wanted, true, false), PLANNER_KEEP);
    assert_int_equal(planner_step(&unwanted, true, true), PLANNER_END);
    assert_int_equal(planner_step(&wanted, false, true), PLANNER_ASSIGN);
    assert_int_equal(planner_step(&unwanted, false, true), PLANNER_REST);
}

static void a_host_that_has_just_refused_is_left_alone(void **state)
{
    struct planner_need wanted = wish(99, 10);

    (void)state;
    assert_int_equal(planner_step(&wanted, false, false), PLANNER_REST);
}

static struct planned one_item(uint8_t id, uint32_t hz, uint64_t seconds)
{
    struct planned p = {0};

    p.items[EVENT_CPU].profiler.bytes[0] = id;
    p.items[EVENT_CPU].need = wish(hz, seconds);
    return p;
}

static void a_plan_differs_by_profiler_rate_or_end(void **state)
{
    struct planned a = one_item(1, 99, 10), b = a;

    (void)state;
    assert_true(planned_equal(&a, &b));
    b = one_item(2, 99, 10);
    assert_false(planned_equal(&a, &b));
    b = one_item(1, 199, 10);
    assert_false(planned_equal(&a, &b));
    b = one_item(1, 99, 11);
    assert_false(planned_equal(&a, &b));
}

static void ends_travel_as_what_remains(void **state)
{
    struct planned p = one_item(7, 99, 30);
    struct wall later = {now.ns + 10 * NS_PER_S};
    struct plan plan;

    (void)state;
    planned_message(&p, 42, later, 10 * NS_PER_S, &plan);
    assert_int_equal(plan.revision, 42);
    assert_int_equal(plan.item_count, 1);
    assert_int_equal(plan.items[0].event, EVENT_CPU);
    assert_int_equal(plan.items[0].period_ns, NS_PER_S / 99);
    assert_int_equal(plan.items[0].remaining_ns, 20 * NS_PER_S);
    assert_int_equal(plan.items[0].chunk_ns, 10 * NS_PER_S);
}

static void an_item_past_its_end_does_not_travel(void **state)
{
    struct planned p = one_item(7, 99, 30);
    struct wall later = {now.ns + 30 * NS_PER_S};
    struct plan plan;

    (void)state;
    planned_message(&p, 1, later, 10 * NS_PER_S, &plan);
    assert_int_equal(plan.item_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_rate_and_the_latest_end_win),
        cmocka_unit_test(events_do_not_mix),
        cmocka_unit_test(a_wish_that_is_over_changes_nothing),
        cmocka_unit_test(an_item_goes_on_while_anyone_wants_it),
        cmocka_unit_test(a_host_that_has_just_refused_is_left_alone),
        cmocka_unit_test(a_plan_differs_by_profiler_rate_or_end),
        cmocka_unit_test(ends_travel_as_what_remains),
        cmocka_unit_test(an_item_past_its_end_does_not_travel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
