/* sequencer: what comes from many buffers is handed over in the order in which it happened. */
#include "agent/sequencer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEEN_MAX = 4096 };

struct seen { /* one thing that was handed over */
    bool is_sample;
    uint64_t time_ns;
    uint32_t pid;
    char path[64];
    uint64_t kernel[4], user[4];
    uint32_t kernel_count, user_count;
};

static struct sequencer *sequencer;
static struct seen seen[SEEN_MAX];
static uint32_t seen_count;

static int make(void **state)
{
    (void)state;
    seen_count = 0;
    return sequencer_new(&sequencer) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    sequencer_free(sequencer);
    return 0;
}

static uint32_t refused_pid = UINT32_MAX; /* its samples are not taken yet */

static void on_event(void *arg, const struct sideband_event *event)
{
    struct seen *s = &seen[seen_count++];

    (void)arg;
    *s = (struct seen){.time_ns = event->time.ns, .pid = event->pid};
    if (event->path != NULL)
        (void)snprintf(s->path, sizeof(s->path), "%s", event->path);
}

static bool on_sample(void *arg, const struct sample *sample)
{
    struct seen *s = &seen[seen_count];

    (void)arg;
    if (sample->pid == refused_pid)
        return false;
    seen_count++;
    *s = (struct seen){.is_sample = true,
                       .time_ns = sample->time.ns,
                       .pid = sample->pid,
                       .kernel_count = sample->kernel_count,
                       .user_count = sample->user_count};
    for (uint32_t i = 0; i < sample->kernel_count && i < 4; i++)
        s->kernel[i] = sample->kernel[i];
    for (uint32_t i = 0; i < sample->user_count && i < 4; i++)
        s->user[i] = sample->user[i];
    return true;
}

static uint64_t run_until(uint64_t ns)
{
    const struct sequencer_handler handler = {on_event, on_sample, NULL, NULL};

    return sequencer_run(sequencer, (struct mono){ns}, &handler).ns;
}

static void add_event(uint64_t ns, uint32_t pid)
{
    const struct sideband_event event = {.kind = SIDEBAND_EXIT, .time = {ns}, .pid = pid};

    sequencer_add_event(sequencer, &event);
}

static void add_sample(uint64_t ns, uint32_t pid)
{
    const struct sample sample = {.time = {ns}, .pid = pid};

    sequencer_add_sample(sequencer, &sample);
}

static void expect_pids(const uint32_t *pids, uint32_t count)
{
    assert_int_equal(seen_count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(seen[i].pid, pids[i]);
}

#define EXPECT_PIDS(...) \
    expect_pids((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static void two_buffers_are_merged_by_time(void **state)
{
    (void)state;
    add_sample(10, 1); /* one CPU's buffer */
    add_sample(30, 3);
    add_sample(20, 2); /* another's */
    add_sample(40, 4);
    run_until(100);
    EXPECT_PIDS(1, 2, 3, 4);
}

static void an_event_between_two_samples_is_handed_over_between_them(void **state)
{
    (void)state;
    add_sample(10, 1);
    add_sample(30, 3);
    add_event(20, 2);
    run_until(100);
    EXPECT_PIDS(1, 2, 3);
    assert_true(seen[0].is_sample && !seen[1].is_sample && seen[2].is_sample);
}

static void at_one_instant_events_come_first_and_then_the_order_of_adding(void **state)
{
    (void)state;
    add_sample(10, 3);
    add_sample(10, 4);
    add_event(10, 1);
    add_event(10, 2);
    run_until(100);
    EXPECT_PIDS(1, 2, 3, 4);
}

static void what_is_younger_than_the_watermark_waits(void **state)
{
    (void)state;
    add_sample(10, 1);
    add_sample(20, 2);
    add_event(21, 3);
    run_until(20);
    EXPECT_PIDS(1, 2);
    run_until(20);
    EXPECT_PIDS(1, 2);
    run_until(21);
    EXPECT_PIDS(1, 2, 3);
}

static void what_waited_is_merged_with_what_comes_later(void **state)
{
    (void)state;
    add_sample(50, 5);
    add_sample(30, 3);
    run_until(20);
    add_sample(40, 4);
    add_event(25, 2);
    run_until(100);
    EXPECT_PIDS(2, 3, 4, 5);
}

static void stacks_and_paths_are_copied(void **state)
{
    char path[] = "/usr/lib/libc.so.6";
    uint64_t kernel[] = {11, 12}, user[] = {21, 22, 23};
    const struct sample sample = {
        .time = {10}, .kernel = kernel, .user = user, .kernel_count = 2, .user_count = 3};
    const struct sideband_event event = {.kind = SIDEBAND_MMAP, .time = {20}, .path = path};

    (void)state;
    sequencer_add_sample(sequencer, &sample);
    sequencer_add_event(sequencer, &event);
    memset(path, 'x', sizeof(path) - 1);
    memset(kernel, 0xff, sizeof(kernel));
    memset(user, 0xff, sizeof(user));
    run_until(5); /* and once more while they wait */
    run_until(100);
    assert_int_equal(seen_count, 2);
    assert_int_equal(seen[0].kernel_count, 2);
    assert_int_equal(seen[0].kernel[1], 12);
    assert_int_equal(seen[0].user_count, 3);
    assert_int_equal(seen[0].user[0], 21);
    assert_int_equal(seen[0].user[2], 23);
    assert_string_equal(seen[1].path, "/usr/lib/libc.so.6");
}

static void a_sample_without_a_stack_is_handed_over_as_well(void **state)
{
    (void)state;
    add_sample(10, 1);
    run_until(100);
    assert_int_equal(seen[0].kernel_count + seen[0].user_count, 0);
}

static void thousands_of_any_order_come_out_sorted(void **state)
{
    uint64_t random = 1, last = 0;

    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < SEEN_MAX / 8; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            /* each round lies after the watermark of the one before */
            add_sample(round * UINT64_C(1000) + (random >> 33) % 1500, i);
            add_event(round * UINT64_C(1000) + (random >> 40) % 1500, i);
        }
        run_until((round + 1) * UINT64_C(1000) - 1);
    }
    run_until(UINT64_MAX);
    assert_int_equal(seen_count, SEEN_MAX);
    for (uint32_t i = 0; i < seen_count; i++) {
        assert_true(seen[i].time_ns >= last);
        last = seen[i].time_ns;
    }
}

static void what_has_no_room_is_refused_and_counted(void **state)
{
    static uint64_t frames[ABI_FRAMES_MAX];
    const struct sample sample = {.time = {10},
                                  .kernel = frames,
                                  .user = frames,
                                  .kernel_count = ABI_FRAMES_MAX,
                                  .user_count = ABI_FRAMES_MAX};
    const uint32_t more_than_fit = SEQUENCER_BYTES_MAX / sizeof(frames) / 2 + 1;
    struct sequencer_counters n;

    (void)state;
    for (uint32_t i = 0; i < more_than_fit; i++)
        sequencer_add_sample(sequencer, &sample);
    n = sequencer_read_counters(sequencer);
    assert_true(n.samples_refused > 0);
    assert_true(n.samples_refused < more_than_fit);
    add_event(5, 1); /* a small one may still fit: it is taken or counted, never lost in silence */
    run_until(5);
    assert_int_equal(seen_count + sequencer_read_counters(sequencer).events_refused, 1);
}

#define WITH_SEQUENCER(test) cmocka_unit_test_setup_teardown(test, make, drop)

static void a_sample_that_is_not_taken_holds_up_all_that_comes_after_it(void **state)
{
    (void)state;
    add_sample(10, 1);
    add_sample(20, 2);
    add_event(30, 3);
    add_sample(40, 4);
    refused_pid = 2;
    assert_int_equal(run_until(35), 19);
    EXPECT_PIDS(1);
    add_event(15, 5);
    refused_pid = UINT32_MAX;
    assert_int_equal(run_until(35), 35);
    EXPECT_PIDS(1, 5, 2, 3);
    assert_int_equal(run_until(45), 45);
    EXPECT_PIDS(1, 5, 2, 3, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SEQUENCER(two_buffers_are_merged_by_time),
        WITH_SEQUENCER(an_event_between_two_samples_is_handed_over_between_them),
        WITH_SEQUENCER(at_one_instant_events_come_first_and_then_the_order_of_adding),
        WITH_SEQUENCER(what_is_younger_than_the_watermark_waits),
        WITH_SEQUENCER(what_waited_is_merged_with_what_comes_later),
        WITH_SEQUENCER(stacks_and_paths_are_copied),
        WITH_SEQUENCER(a_sample_without_a_stack_is_handed_over_as_well),
        WITH_SEQUENCER(thousands_of_any_order_come_out_sorted),
        WITH_SEQUENCER(what_has_no_room_is_refused_and_counted),
        WITH_SEQUENCER(a_sample_that_is_not_taken_holds_up_all_that_comes_after_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
