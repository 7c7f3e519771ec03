/* The ledger of a window in which the kernel's ring was far too small: every sample that was due is
 * in it, by what became of it. Real samples of the whole host; needs eBPF and perf events. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "agent/host_source.h"
#include "agent/profiler.h"
#include "common/chunk.h"
#include "tests/unit/agent/children.h"

enum {
    RING_BYTES = 4096,
    ENOUGH_LOST = 2000,
    WAIT_STEPS = 6000, /* of 10 ms */
    CPUS_KEPT_BUSY = 64,
};
#define PERIOD_NS (NS_PER_S / 9999)

static struct source *source;
static struct profiler *profiler;
static uint64_t handed_over;

static void take(void *arg, const struct resolved_sample *sample)
{
    (void)arg;
    handed_over++;
    profiler_add(profiler, sample);
}

static struct profiler_now world(void)
{
    struct profiler_now now = {.mono = clock_mono(), .wall = clock_wall()};

    source->operations->read_counters(source, EVENT_CPU, &now.counters);
    return now;
}

static bool begin(void)
{
    static const struct host_source_options from = {.ring_bytes = RING_BYTES};
    const struct profiler_options options = {
        .item = {.profiler = {{1}}, .event = EVENT_CPU, .period_ns = PERIOD_NS},
        .whole_host = true,
    };
    char why[SOURCE_WHY_MAX] = "";
    struct profiler_now now;

    if (host_source_open(&from, &source, why) != ST_OK) {
        printf("no samples here: %s\n", why);
        return false;
    }
    now = world();
    assert_int_equal(profiler_new(&options, &now, &profiler), ST_OK);
    if (source->operations->start(source, EVENT_CPU, PERIOD_NS, why) != ST_OK)
        fail_msg("%s", why);
    return true;
}

/* Without draining, so that the ring is full all the while. */
static void wait_for_losses(void)
{
    const struct timespec step = {.tv_nsec = 10L * 1000 * 1000};

    for (int i = 0; i < WAIT_STEPS && world().counters.lost[LOSS_RING] < ENOUGH_LOST; i++)
        nanosleep(&step, NULL);
}

static struct ledger end(struct sample_counters *counters)
{
    struct profiler_now now;
    struct chunk_info info;
    struct blob chunk;
    uint32_t samples;

    source->operations->stop(source, EVENT_CPU, clock_mono(), take, NULL);
    now = world();
    assert_int_equal(profiler_cut(profiler, &now, true, &chunk, &samples), ST_OK);
    assert_int_equal(chunk_decode_info(blob_slice(&chunk), &info), ST_OK);
    assert_int_equal(info.ledger.delivered, samples);
    blob_deinit(&chunk);
    profiler_free(profiler);
    source->operations->close(source);
    *counters = now.counters;
    return info.ledger;
}

static void samples_that_a_ring_has_no_room_for_are_counted_to_the_last(void **state)
{
    char program[] = "burn", seconds[] = "600", share[] = "alpha=100";
    struct sample_counters counters;
    pid_t burners[CPUS_KEPT_BUSY];
    int count = 0;
    struct ledger l;
    uint64_t due;

    (void)state;
    if (!begin())
        skip();
    while (count < (int)source->cpus && count < CPUS_KEPT_BUSY)
        burners[count++] =
            run_program(BURN, (char *const[]){program, seconds, share, NULL}, environ);
    wait_for_losses();
    l = end(&counters);
    while (count > 0)
        end_child(burners[--count]);

    due = counters.clock_ns / PERIOD_NS;
    printf("%llu due: %llu delivered, %llu idle, %llu lost in the ring\n", (unsigned long long)due,
           (unsigned long long)l.delivered, (unsigned long long)l.idle,
           (unsigned long long)l.lost[LOSS_RING]);
    assert_true(l.lost[LOSS_RING] >= ENOUGH_LOST);
    assert_int_equal(l.lost[LOSS_RING], counters.lost[LOSS_RING]);
    assert_true(l.delivered > 0);
    assert_int_equal(l.delivered, handed_over);
    assert_int_equal(l.expected, l.delivered + l.idle + l.skipped + ledger_lost(&l));
    /* Nothing counts twice: a clock that is cut off may have ticked once more on each CPU. */
    assert_in_range(l.expected, due, due + 1 + counters.cpus);
    assert_true(l.idle < l.expected / 2); /* every CPU was busy */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_that_a_ring_has_no_room_for_are_counted_to_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
