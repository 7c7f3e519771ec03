/* profiler: windows, sequences and a ledger that balances. */
#include "agent/profiler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/support/rng.h"

#define PERIOD_NS (10 * NS_PER_MS)
#define WINDOW_NS (10 * NS_PER_S)

static const struct profiler_now begin = {
    .mono = {100 * NS_PER_S},
    .wall = {UINT64_C(1700000000) * NS_PER_S},
    .clock_offset_ns = -5,
    .counters = {.clock_ns = 7, .lost = {1, 2, 3}, .skipped = 4, .cpus = 2},
    .cost = {.user_ns = 1000, .system_ns = 500, .bytes_sent = 70, .rss_bytes = 9},
};

static struct profiler *new_profiler(bool whole_host)
{
    struct profiler_options options = {
        .item = {.profiler = {{5}},
                 .event = EVENT_CPU,
                 .period_ns = PERIOD_NS,
                 .chunk_ns = WINDOW_NS},
        .incarnation = 77,
        .whole_host = whole_host,
    };
    struct profiler *p = NULL;

    assert_int_equal(profiler_new(&options, &begin, &p), ST_OK);
    return p;
}

/* The world `ns` after `begin`, with two CPUs' clocks running all the time. */
static struct profiler_now world_after(uint64_t ns)
{
    struct profiler_now now = begin;

    now.mono.ns += ns;
    now.wall.ns += ns;
    now.counters.clock_ns += 2 * ns;
    return now;
}

static void add_samples(struct profiler *p, uint32_t count)
{
    static const struct resolved_frame frames[] = {{FRAME_NAMED, NULL, NULL, "main", 0},
                                                   {FRAME_NAMED, NULL, NULL, "work", 0}};
    struct resolved_sample s = {.time = begin.mono,
                                .pid = 3,
                                .tid = 3,
                                .comm = "worker",
                                .frames = frames,
                                .frame_count = 2};

    while (count-- > 0)
        profiler_add(p, &s);
}

static void add_broken_samples(struct profiler *p, uint32_t count)
{
    struct resolved_sample s = {.time = begin.mono};

    while (count-- > 0)
        profiler_add(p, &s); /* no frames: refused */
}

static uint64_t sum(const struct ledger *l)
{
    return l->delivered + l->idle + l->skipped + ledger_lost(l);
}

/* Cuts, and reads the chunk back. */
static struct chunk_info cut(struct profiler *p, const struct profiler_now *now, bool final)
{
    struct blob bytes = {0};
    struct chunk c;
    struct chunk_info info;
    uint32_t samples = UINT32_MAX;
    const char *why = NULL;

    assert_int_equal(profiler_cut(p, now, final, &bytes, &samples), ST_OK);
    assert_int_equal(chunk_decode(blob_slice(&bytes), CHUNK_WIRE, &c, &why), ST_OK);
    assert_int_equal(c.samples.sample_count, samples);
    assert_int_equal(c.info.ledger.expected, sum(&c.info.ledger));
    info = c.info;
    chunk_deinit(&c);
    blob_deinit(&bytes);
    return info;
}

/* ---- windows ---- */

static void a_window_is_due_when_it_is_full_and_not_before(void **state)
{
    struct profiler *p = new_profiler(true);

    (void)state;
    assert_false(profiler_is_due(p, mono_after(begin.mono, WINDOW_NS - 1)));
    assert_true(profiler_is_due(p, mono_after(begin.mono, WINDOW_NS)));
    profiler_free(p);
    profiler_free(NULL);
}

static void windows_lie_end_to_end_and_sequences_have_no_gap(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(WINDOW_NS);
    struct chunk_info one, two;

    (void)state;
    assert_int_equal(profiler_sequence(p), 0);
    add_samples(p, 3);
    one = cut(p, &now, false);
    now = world_after(2 * WINDOW_NS + 5);
    two = cut(p, &now, true);

    assert_int_equal(one.sequence, 1);
    assert_int_equal(two.sequence, 2);
    assert_int_equal(profiler_sequence(p), 2);
    assert_int_equal(one.start.ns, begin.mono.ns);
    assert_int_equal(one.end.ns, two.start.ns);
    assert_int_equal(two.end.ns, now.mono.ns);
    assert_int_equal(one.wall_start.ns, begin.wall.ns);
    assert_int_equal(two.wall_start.ns, begin.wall.ns + WINDOW_NS);
    assert_int_equal(one.clock_offset_ns, -5);
    assert_int_equal(one.incarnation, 77);
    assert_int_equal(one.cpus, 2);
    assert_false(one.final);
    assert_true(two.final);
    assert_true(id128_equal(two.profiler, profiler_id(p)));
    assert_int_equal(profiler_event(p), EVENT_CPU);
    profiler_free(p);
}

static void a_window_of_no_length_is_no_chunk_unless_it_is_the_last(void **state)
{
    struct profiler *p = new_profiler(true);
    struct blob untouched = {0};
    uint32_t samples = 9;
    struct chunk_info info;

    (void)state;
    add_samples(p, 2);
    assert_int_equal(profiler_cut(p, &begin, false, &untouched, &samples), ST_NOT_FOUND);
    assert_null(untouched.bytes);
    assert_int_equal(samples, 9);
    info = cut(p, &begin, true);
    assert_int_equal(info.sequence, 1);
    assert_int_equal(info.ledger.delivered, 2);
    assert_true(info.final);
    profiler_free(p);
}

static void an_empty_last_chunk_still_ends_the_profiler(void **state)
{
    struct profiler *p = new_profiler(false);
    struct profiler_now now = world_after(NS_PER_S);
    struct chunk_info info;

    (void)state;
    info = cut(p, &now, true);
    assert_true(info.final);
    assert_int_equal(info.ledger.delivered, 0);
    assert_int_equal(info.ledger.expected, 0);
    profiler_free(p);
}

static void a_chunk_has_one_period(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(NS_PER_S);
    struct chunk_info one, two;

    (void)state;
    one = cut(p, &now, false);
    profiler_set_period(p, PERIOD_NS / 2);
    assert_int_equal(profiler_period_ns(p), PERIOD_NS / 2);
    now = world_after(2 * NS_PER_S);
    two = cut(p, &now, false);
    assert_int_equal(one.period_ns, PERIOD_NS);
    assert_int_equal(two.period_ns, PERIOD_NS / 2);
    assert_int_equal(one.ledger.expected, 200);
    assert_int_equal(two.ledger.expected, 400);
    profiler_free(p);
}

static void a_window_that_nobody_cut_for_too_long_keeps_its_last_part(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(CHUNK_WINDOW_MAX_NS + 100 * NS_PER_S);
    struct chunk_info info;

    (void)state;
    add_samples(p, 4);
    info = cut(p, &now, false);
    assert_int_equal(info.ledger.delivered, 4);
    assert_int_equal(info.end.ns, now.mono.ns);
    assert_int_equal(info.end.ns - info.start.ns, CHUNK_WINDOW_MAX_NS);
    assert_int_equal(info.wall_start.ns, begin.wall.ns + 100 * NS_PER_S);
    profiler_free(p);
}

/* ---- ledger ---- */

static void the_ledger_takes_differences_and_calls_the_rest_idle(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(WINDOW_NS);
    struct chunk_info info;

    (void)state;
    add_samples(p, 100);
    add_broken_samples(p, 6);
    now.counters.lost[LOSS_RING] += 10;
    now.counters.lost[LOSS_KERNEL] += 20;
    now.counters.skipped += 30;
    info = cut(p, &now, false);
    assert_int_equal(info.ledger.expected, 2000);
    assert_int_equal(info.ledger.delivered, 100);
    assert_int_equal(info.ledger.lost[LOSS_RING], 10);
    assert_int_equal(info.ledger.lost[LOSS_SCRATCH], 0);
    assert_int_equal(info.ledger.lost[LOSS_KERNEL], 20);
    assert_int_equal(info.ledger.lost[LOSS_TABLE], 6);
    assert_int_equal(info.ledger.skipped, 30);
    assert_int_equal(info.ledger.idle, 2000 - 166);

    now.mono.ns += WINDOW_NS; /* nothing was counted since */
    info = cut(p, &now, false);
    assert_int_equal(info.ledger.expected, 0);
    profiler_free(p);
}

static void what_was_seen_beyond_the_clock_is_expected(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(10 * NS_PER_MS); /* two periods */
    struct chunk_info info;

    (void)state;
    add_samples(p, 3);
    info = cut(p, &now, false);
    assert_int_equal(info.ledger.expected, 3);
    assert_int_equal(info.ledger.idle, 0);
    profiler_free(p);
}

static void a_cgroup_is_never_idle(void **state)
{
    struct profiler *p = new_profiler(false);
    struct profiler_now now = world_after(NS_PER_S);
    struct chunk_info info;

    (void)state;
    add_samples(p, 199);
    info = cut(p, &now, false);
    assert_int_equal(info.ledger.idle, 0);
    assert_int_equal(info.ledger.expected, 199);
    profiler_free(p);
}

static void the_cost_is_of_the_window_and_gauges_are_as_they_are(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(WINDOW_NS);
    struct chunk_info info;

    (void)state;
    now.cost.user_ns += 11;
    now.cost.bytes_sent += 13;
    now.cost.rss_bytes = 4;
    now.cost.kernel_map_bytes = 6;
    info = cut(p, &now, false);
    assert_int_equal(info.cost.user_ns, 11);
    assert_int_equal(info.cost.system_ns, 0);
    assert_int_equal(info.cost.bytes_sent, 13);
    assert_int_equal(info.cost.rss_bytes, 4);
    assert_int_equal(info.cost.kernel_map_bytes, 6);
    profiler_free(p);
}

static void counters_that_start_over_count_nothing(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(WINDOW_NS);
    struct chunk_info info;

    (void)state;
    now.counters = (struct sample_counters){.cpus = 2};
    now.cost = (struct agent_cost){0};
    add_samples(p, 1);
    info = cut(p, &now, false);
    assert_int_equal(info.ledger.expected, 1);
    assert_int_equal(info.cost.user_ns, 0);
    profiler_free(p);
}

/* A period that no chunk may have makes the cut fail, like a window too big to pack. */
static void a_window_that_cannot_be_packed_is_told_of_in_the_next(void **state)
{
    struct profiler_options options = {.item = {.profiler = {{5}},
                                                .event = EVENT_CPU,
                                                .period_ns = CHUNK_PERIOD_MAX_NS + 1,
                                                .chunk_ns = WINDOW_NS},
                                       .whole_host = true};
    struct profiler *p = NULL;
    struct profiler_now now = world_after(WINDOW_NS);
    struct blob untouched = {0};
    uint32_t samples = 0;
    struct chunk_info info;

    (void)state;
    assert_int_equal(profiler_new(&options, &begin, &p), ST_OK);
    add_samples(p, 40);
    now.counters.lost[LOSS_RING] += 2;
    now.cost.user_ns += 11;
    assert_int_equal(profiler_cut(p, &now, false, &untouched, &samples), ST_INVALID);
    assert_null(untouched.bytes);
    assert_int_equal(profiler_sequence(p), 0);
    assert_int_equal(profiler_samples(p), 0);
    assert_false(profiler_is_due(p, mono_after(now.mono, WINDOW_NS - 1)));
    assert_true(profiler_is_due(p, mono_after(now.mono, WINDOW_NS)));

    profiler_set_period(p, PERIOD_NS);
    add_samples(p, 5);
    now.mono.ns += NS_PER_S;
    now.counters.clock_ns += NS_PER_S;
    info = cut(p, &now, false);
    assert_int_equal(info.sequence, 1);
    assert_int_equal(info.start.ns, begin.mono.ns); /* reaches back over the failed window */
    assert_int_equal(info.wall_start.ns, begin.wall.ns);
    assert_int_equal(info.ledger.delivered, 5);
    assert_int_equal(info.ledger.lost[LOSS_TABLE], 40);
    assert_int_equal(info.ledger.lost[LOSS_RING], 2);
    assert_int_equal(info.ledger.idle, 95);
    assert_int_equal(info.cost.user_ns, 11);

    now.mono.ns += NS_PER_S;
    info = cut(p, &now, true);
    assert_int_equal(ledger_lost(&info.ledger), 0);
    profiler_free(p);
}

/* Over any counters: each chunk balances, and over the run nothing is told twice or not at all. */
static void after_a_stall_the_ledger_fits_the_longest_window(void **state)
{
    struct profiler *p = new_profiler(true);
    struct profiler_now now = world_after(10 * CHUNK_WINDOW_MAX_NS);
    struct chunk_info info;

    (void)state;
    add_samples(p, 5);
    now.counters.skipped += 1000 * 1000;
    now.counters.lost[LOSS_RING] += 1000 * 1000;
    info = cut(p, &now, false);
    assert_int_equal(mono_since(info.end, info.start), CHUNK_WINDOW_MAX_NS);
    assert_int_equal(info.ledger.delivered, 5);
    assert_int_equal(info.ledger.idle, 0);
    assert_int_equal(info.ledger.expected, chunk_expected_max(&info));
    assert_int_equal(info.sequence, 1);

    now.mono.ns += NS_PER_S;
    info = cut(p, &now, true);
    assert_int_equal(ledger_lost(&info.ledger), 0);
    profiler_free(p);
}

static void the_ledger_balances_at_random(void **state)
{
    struct rng rng = rng_new();

    (void)state;
    for (uint32_t run = 0; run < 40; run++) {
        struct profiler *p = new_profiler(run % 2 == 0);
        struct profiler_now now = begin;
        struct chunk_info info;
        struct ledger total = {0};
        uint64_t added = 0, refused = 0;

        for (uint32_t window = 0; window < 20; window++) {
            uint32_t good = rng_below(&rng, 50), broken = rng_below(&rng, 3);
            uint64_t length;

            add_samples(p, good);
            add_broken_samples(p, broken);
            added += good;
            refused += broken;
            length = 1 + rng_below(&rng, 2000000000);
            now.mono.ns += length;
            now.counters.clock_ns += rng_u64(&rng) % (2 * length + 1);
            now.counters.skipped += rng_below(&rng, 100);
            for (unsigned i = 0; i < LOSS_KINDS; i++)
                now.counters.lost[i] += rng_below(&rng, 100);
            info = cut(p, &now, false);
            ledger_add(&total, &info.ledger);
            if (rng_below(&rng, 4) == 0)
                profiler_set_period(p, NS_PER_S / (1 + rng_below(&rng, 10000)));
        }
        assert_int_equal(total.expected, sum(&total));
        assert_int_equal(total.delivered, added);
        assert_int_equal(profiler_samples(p), added);
        assert_int_equal(total.skipped, now.counters.skipped - begin.counters.skipped);
        for (unsigned i = 0; i < LOSS_KINDS; i++)
            assert_int_equal(total.lost[i], now.counters.lost[i] - begin.counters.lost[i] +
                                                (i == LOSS_TABLE ? refused : 0));
        profiler_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_is_due_when_it_is_full_and_not_before),
        cmocka_unit_test(windows_lie_end_to_end_and_sequences_have_no_gap),
        cmocka_unit_test(a_window_of_no_length_is_no_chunk_unless_it_is_the_last),
        cmocka_unit_test(an_empty_last_chunk_still_ends_the_profiler),
        cmocka_unit_test(a_chunk_has_one_period),
        cmocka_unit_test(a_window_that_nobody_cut_for_too_long_keeps_its_last_part),
        cmocka_unit_test(the_ledger_takes_differences_and_calls_the_rest_idle),
        cmocka_unit_test(what_was_seen_beyond_the_clock_is_expected),
        cmocka_unit_test(a_cgroup_is_never_idle),
        cmocka_unit_test(the_cost_is_of_the_window_and_gauges_are_as_they_are),
        cmocka_unit_test(counters_that_start_over_count_nothing),
        cmocka_unit_test(a_window_that_cannot_be_packed_is_told_of_in_the_next),
        cmocka_unit_test(after_a_stall_the_ledger_fits_the_longest_window),
        cmocka_unit_test(the_ledger_balances_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
