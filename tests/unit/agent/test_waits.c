/* Waits: the samples that come of them stand for the time that they took, whatever their lengths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "agent/sampler/waits.h"

#define PERIOD_NS (10 * NS_PER_MS)

enum { LONG_TID = 7, SHORT_TID = 8 };

static struct waits *waits;

static struct seen { /* samples by kind, and by thread */
    uint64_t kinds[ABI_WAITS], of_long, of_short;
    uint64_t first_ns, last_ns;
} seen;

static void count(void *arg, const struct sample *s)
{
    uint64_t samples = UINT64_C(1) + s->repeats;

    (void)arg;
    assert_int_equal(s->event, EVENT_OFFCPU);
    assert_int_equal(s->user_count, 2);
    assert_int_equal(s->user[1], s->tid); /* the copy is the thread's own */
    seen.kinds[s->wait] += samples;
    *(s->tid == LONG_TID ? &seen.of_long : &seen.of_short) += samples;
    if (seen.first_ns == 0)
        seen.first_ns = s->time.ns;
    seen.last_ns = s->time.ns + s->repeats * s->step_ns;
}

static enum status begin(uint32_t tid, uint64_t begin_ns, enum abi_wait_kind kind, uint32_t chance)
{
    const uint64_t user[] = {1, tid};
    const struct sample s = {.event = EVENT_OFFCPU, .tid = tid, .user = user, .user_count = 2};
    const struct abi_wait wait = {.begin_ns = begin_ns, .tid = tid, .kind = kind, .chance = chance};

    return waits_begin(waits, &wait, &s);
}

static void end(uint32_t tid, uint64_t begin_ns, uint64_t woken_ns, uint64_t end_ns)
{
    const struct abi_wait wait = {
        .begin_ns = begin_ns, .woken_ns = woken_ns, .end_ns = end_ns, .tid = tid};

    waits_end(waits, &wait, count, NULL);
}

static void settle(uint64_t until_ns)
{
    waits_settle(waits, (struct mono){until_ns}, count, NULL);
}

static int set_up(void **state)
{
    (void)state;
    seen = (struct seen){0};
    assert_int_equal(waits_new(42, &waits), ST_OK);
    waits_set_period(waits, PERIOD_NS);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    waits_free(waits);
    return 0;
}

/* `expected` +- 5 standard deviations of that many independent draws. */
static void assert_about(uint64_t samples, uint64_t expected)
{
    uint64_t off = samples > expected ? samples - expected : expected - samples;

    if (off * off > 25 * expected)
        print_error("%llu samples, about %llu expected\n", (unsigned long long)samples,
                    (unsigned long long)expected);
    assert_true(off * off <= 25 * expected);
}

static void one_long_wait_among_many_short_ones_is_seen_for_all_of_its_time(void **state)
{
    uint64_t now = NS_PER_S;

    (void)state;
    assert_int_equal(begin(LONG_TID, now, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
    for (unsigned i = 0; i < 100000; i++, now += 50 * 1000) {
        assert_int_equal(begin(SHORT_TID, now, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
        end(SHORT_TID, now, 0, now + 20 * 1000);
        if (i % 1000 == 0)
            settle(now);
    }
    end(LONG_TID, NS_PER_S, 0, 6 * NS_PER_S);
    assert_in_range(seen.of_long, 5 * NS_PER_S / PERIOD_NS - 1, 5 * NS_PER_S / PERIOD_NS + 1);
    assert_about(seen.of_short, UINT64_C(100000) * 20 * 1000 / PERIOD_NS);
}

static void what_was_taken_stands_for_what_was_passed_over(void **state)
{
    uint64_t now = NS_PER_S, lengths = 0;

    (void)state;
    for (unsigned i = 0; i < 200000; i++, now += NS_PER_MS) {
        uint64_t length = 1000 * (1 + i % 1999); /* 1 us to 2 ms */

        lengths += length;
        if (i % 8 != 0)
            continue;
        assert_int_equal(begin(SHORT_TID, now, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE / 8), ST_OK);
        end(SHORT_TID, now, 0, now + length);
    }
    assert_about(seen.of_short, lengths / PERIOD_NS);
}

static void a_wait_gives_samples_while_it_lasts_and_each_once(void **state)
{
    (void)state;
    assert_int_equal(begin(LONG_TID, NS_PER_S, ABI_WAIT_DISK, ABI_CHANCE_ONE), ST_OK);
    settle(2 * NS_PER_S);
    assert_in_range(seen.of_long, 99, 101);
    assert_true(seen.first_ns >= NS_PER_S && seen.first_ns < NS_PER_S + PERIOD_NS);
    assert_true(seen.last_ns < 2 * NS_PER_S);
    settle(2 * NS_PER_S);
    assert_in_range(seen.of_long, 99, 101);
    end(LONG_TID, NS_PER_S, 0, 3 * NS_PER_S);
    assert_in_range(seen.of_long, 199, 201);
    assert_int_equal(waits_read_counters(waits).pending, 0);
    settle(9 * NS_PER_S);
    assert_in_range(seen.of_long, 199, 201);
}

static void after_its_wake_up_a_thread_waits_to_run(void **state)
{
    (void)state;
    assert_int_equal(begin(LONG_TID, NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
    end(LONG_TID, NS_PER_S, 3 * NS_PER_S, 4 * NS_PER_S);
    assert_in_range(seen.kinds[ABI_WAIT_BLOCKED], 199, 201);
    assert_in_range(seen.kinds[ABI_WAIT_RUNNABLE], 99, 101);

    assert_int_equal(begin(LONG_TID, 5 * NS_PER_S, ABI_WAIT_RUNNABLE, ABI_CHANCE_ONE), ST_OK);
    end(LONG_TID, 5 * NS_PER_S, 0, 6 * NS_PER_S);
    assert_in_range(seen.kinds[ABI_WAIT_RUNNABLE], 198, 202);
}

static void a_pending_wait_goes_on_at_the_new_rate(void **state)
{
    (void)state;
    assert_int_equal(begin(LONG_TID, NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
    settle(2 * NS_PER_S);
    waits_set_period(waits, PERIOD_NS / 10);
    end(LONG_TID, NS_PER_S, 0, 3 * NS_PER_S);
    assert_in_range(seen.of_long, 100 + 1000 - 2, 100 + 1000 + 2);
}

static void an_end_without_its_beginning_is_nothing(void **state)
{
    (void)state;
    end(LONG_TID, NS_PER_S, 0, 9 * NS_PER_S);
    assert_int_equal(begin(LONG_TID, 2 * NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
    end(LONG_TID, NS_PER_S, 0, 9 * NS_PER_S); /* of another wait */
    assert_int_equal(seen.of_long, 0);
    assert_int_equal(waits_read_counters(waits).pending, 1);
}

static void a_thread_that_waits_anew_has_ended_its_wait_unseen(void **state)
{
    (void)state;
    assert_int_equal(begin(LONG_TID, NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
    assert_int_equal(begin(LONG_TID, 2 * NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
    assert_int_equal(waits_read_counters(waits).unended, 1);
    assert_int_equal(waits_read_counters(waits).pending, 1);
    end(LONG_TID, 2 * NS_PER_S, 0, 3 * NS_PER_S);
    assert_in_range(seen.of_long, 99, 101);
}

static void more_threads_than_the_limit_are_refused_and_counted(void **state)
{
    (void)state;
    for (uint32_t tid = 0; tid < WAITS_MAX; tid++)
        if (begin(tid, NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE) != ST_OK)
            fail();
    assert_int_equal(begin(WAITS_MAX, NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_FULL);
    assert_int_equal(waits_read_counters(waits).refused, 1);
    waits_forget(waits);
    assert_int_equal(waits_read_counters(waits).pending, 0);
    assert_int_equal(begin(WAITS_MAX, NS_PER_S, ABI_WAIT_BLOCKED, ABI_CHANCE_ONE), ST_OK);
}

#define WITH_WAITS(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WAITS(one_long_wait_among_many_short_ones_is_seen_for_all_of_its_time),
        WITH_WAITS(what_was_taken_stands_for_what_was_passed_over),
        WITH_WAITS(a_wait_gives_samples_while_it_lasts_and_each_once),
        WITH_WAITS(after_its_wake_up_a_thread_waits_to_run),
        WITH_WAITS(a_pending_wait_goes_on_at_the_new_rate),
        WITH_WAITS(an_end_without_its_beginning_is_nothing),
        WITH_WAITS(a_thread_that_waits_anew_has_ended_its_wait_unseen),
        WITH_WAITS(more_threads_than_the_limit_are_refused_and_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
