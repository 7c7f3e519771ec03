/* ledger, walks and event: sums that cannot wrap, names that are those of the tables. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/event.h"
#include "common/ledger.h"
#include "common/walks.h"

static void ledgers_add_up_counter_by_counter(void **state)
{
    struct ledger sum = {.expected = 1, .delivered = 2, .idle = 3, .skipped = 4, .lost = {5, 6}};
    const struct ledger more = {
        .expected = 10, .delivered = 20, .idle = 30, .skipped = 40, .lost = {50, 60, 70}};

    (void)state;
    ledger_add(&sum, &more);
    assert_int_equal(sum.expected, 11);
    assert_int_equal(sum.delivered, 22);
    assert_int_equal(sum.idle, 33);
    assert_int_equal(sum.skipped, 44);
    assert_int_equal(sum.lost[LOSS_SCRATCH], 66);
    assert_int_equal(ledger_lost(&sum), 55 + 66 + 70);
}

static void a_sum_that_does_not_fit_stays_at_the_top(void **state)
{
    struct ledger sum = {.expected = UINT64_MAX - 1, .lost = {UINT64_MAX, 1}};
    const struct ledger more = {.expected = 2};

    (void)state;
    assert_int_equal(ledger_lost(&sum), UINT64_MAX);
    ledger_add(&sum, &more);
    assert_int_equal(sum.expected, UINT64_MAX);
}

static void every_cause_of_loss_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(loss_name(LOSS_RING), "ring_full");
    assert_string_equal(loss_name(LOSS_SPOOL), "spool_dropped");
    assert_string_equal(loss_name(LOSS_KINDS), "unknown");
}

static void walks_add_up_and_keep_what_has_no_name_yet(void **state)
{
    struct walks sum = {.count = {[WALK_NONE] = 2, [WALK_ROOT] = 5}};
    const struct walks more = {.count = {[WALK_ROOT] = 1, [WALK_ENDS] = 3}};

    (void)state;
    walks_add(&sum, &more);
    assert_int_equal(walks_sum(&sum), 11);
    assert_int_equal(walks_user(&sum), 9);
    assert_int_equal(walks_other(&sum), 3);
    assert_string_equal(walk_name(WALK_ROOT), "root");
    assert_string_equal(walk_name(WALK_ENDS), "unknown");
    sum.count[WALK_LOST] = UINT64_MAX;
    walks_add(&sum, &sum);
    assert_int_equal(walks_sum(&sum), UINT64_MAX);
}

static void events_are_found_by_name_and_by_number(void **state)
{
    enum event e = EVENT_NONE;

    (void)state;
    assert_true(event_parse("offcpu", &e));
    assert_int_equal(e, EVENT_OFFCPU);
    assert_true(event_from_number(1, &e));
    assert_int_equal(e, EVENT_CPU);
    assert_string_equal(event_name(e), "cpu");
    assert_string_equal(event_unit(e), "ns");
}

static void what_is_no_event_leaves_the_result_alone(void **state)
{
    enum event e = EVENT_CPU;

    (void)state;
    assert_false(event_parse("none", &e));
    assert_false(event_parse("", &e));
    assert_false(event_from_number(0, &e));
    assert_false(event_from_number(UINT64_C(1) << 32 | 1, &e));
    assert_int_equal(e, EVENT_CPU);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ledgers_add_up_counter_by_counter),
        cmocka_unit_test(a_sum_that_does_not_fit_stays_at_the_top),
        cmocka_unit_test(every_cause_of_loss_has_its_name),
        cmocka_unit_test(walks_add_up_and_keep_what_has_no_name_yet),
        cmocka_unit_test(events_are_found_by_name_and_by_number),
        cmocka_unit_test(what_is_no_event_leaves_the_result_alone),
    };

    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
