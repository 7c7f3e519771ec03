/* aggregate: how samples lie in the chunk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/agent/aggregate_window.h"

enum { TEXT_MAX = 1 << 16 };

/* ---- tables ---- */

static void an_empty_window_is_an_empty_chunk(void **state)
{
    struct aggregate *a = new_aggregate();
    struct chunk c = take(a);

    (void)state;
    assert_int_equal(c.samples.sample_count, 0);
    assert_int_equal(c.dictionary.string_count, 0);
    chunk_deinit(&c);
    aggregate_free(a);
    aggregate_free(NULL);
}

static void recursion_is_kept_frame_by_frame(void **state)
{
    struct resolved_frame frames[] = {native(10), native(20), native(20), native(20)};
    struct resolved_sample s = sample(frames, 4);
    struct aggregate *a = new_aggregate();
    struct chunk c;
    uint32_t depth = 0;

    (void)state;
    add(a, &s);
    c = take(a);
    assert_int_equal(c.dictionary.frame_count, 2);
    assert_int_equal(c.dictionary.node_count, 4);
    for (uint32_t n = c.samples.groups[0].leaf; n != CHUNK_NO_PARENT;
         n = c.dictionary.nodes[n].parent)
        depth++;
    assert_int_equal(depth, 4);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void a_stack_is_kept_once_however_many_threads_share_it(void **state)
{
    struct resolved_frame frames[] = {native(10), native(20), native(30)};
    struct resolved_sample s = sample(frames, 3);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        s.tid = 8 + i % 10;
        add(a, &s);
    }
    assert_int_equal(aggregate_samples(a), 100);
    c = take(a);
    assert_int_equal(c.dictionary.node_count, 3);
    assert_int_equal(c.samples.thread_count, 10);
    assert_int_equal(c.samples.group_count, 10);
    assert_int_equal(c.samples.process_count, 1);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void a_prefix_is_shared_and_a_suffix_is_not(void **state)
{
    struct resolved_frame one[] = {native(10), native(20), native(30)};
    struct resolved_frame two[] = {native(10), native(40), native(30)};
    struct resolved_sample s = sample(one, 3), t = sample(two, 3);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    add(a, &s);
    add(a, &t);
    c = take(a);
    assert_int_equal(c.dictionary.frame_count, 4);
    assert_int_equal(c.dictionary.node_count, 5);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void frames_are_sorted_by_binary_and_offset(void **state)
{
    struct resolved_frame frames[] = {
        native(900),
        {FRAME_MARK, NULL, NULL, "[cut]", 5},
        {FRAME_KERNEL, &kernel_id, "[kernel]", NULL, 50},
        native(100),
        {FRAME_NAMED, NULL, NULL, "jit:main", 0},
        {FRAME_KERNEL, &kernel_id, "[kernel]", NULL, 40},
    };
    struct resolved_sample s = sample(frames, 6);
    struct aggregate *a = new_aggregate();
    struct chunk c;
    const struct chunk_frame *f;

    (void)state;
    add(a, &s);
    c = take(a);
    f = c.dictionary.frames;
    assert_int_equal(c.dictionary.frame_count, 6);
    assert_int_equal(f[0].offset, 100);
    assert_int_equal(f[1].offset, 900);
    assert_string_equal(c.dictionary.strings[c.dictionary.binaries[f[1].binary].path],
                        "/lib/libc.so.6");
    assert_int_equal(f[2].kind, FRAME_KERNEL);
    assert_int_equal(f[2].offset, 40);
    assert_true(build_id_equal(&c.dictionary.binaries[f[3].binary].id, &kernel_id));
    assert_string_equal(c.dictionary.strings[f[4].name], "jit:main");
    assert_int_equal(f[5].kind, FRAME_MARK);
    chunk_deinit(&c);
    aggregate_free(a);
}

/* ---- processes and threads ---- */

static void one_pid_used_twice_is_two_processes(void **state)
{
    struct resolved_frame frames[] = {native(10)};
    struct resolved_sample s = sample(frames, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    add(a, &s);
    s.process_serial = 2;
    s.process_start_ns = 900;
    s.comm = "child";
    add(a, &s);
    c = take(a);
    assert_int_equal(c.samples.process_count, 2);
    assert_int_equal(c.samples.thread_count, 2);
    assert_int_equal(c.samples.processes[0].pid, c.samples.processes[1].pid);
    assert_int_equal(c.samples.processes[0].start_ns, 500);
    assert_int_equal(c.samples.processes[1].start_ns, 900);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void a_sample_with_repeats_is_so_many_samples_at_their_times(void **state)
{
    struct resolved_frame frames[] = {native(10)};
    struct resolved_sample s = sample(frames, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    s.repeats = 2;
    s.step_ns = 3 * NS_PER_S;
    add(a, &s);
    assert_int_equal(aggregate_samples(a), 3);
    assert_int_equal(aggregate_walks(a).count[s.end], 3);
    c = take(a);
    assert_int_equal(c.samples.group_count, 1);
    assert_int_equal(c.samples.groups[0].count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(c.samples.ticks[i], (1 + 3 * i) * (NS_PER_S / CHUNK_TICK_NS));
    chunk_deinit(&c);
    aggregate_free(a);
}

static void names_are_those_seen_last(void **state)
{
    struct resolved_frame frames[] = {native(10)};
    struct resolved_sample s = sample(frames, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    add(a, &s);
    s.comm = "renamed";
    s.thread_name = "io";
    add(a, &s);
    c = take(a);
    assert_int_equal(c.samples.thread_count, 1);
    assert_string_equal(c.dictionary.strings[c.samples.threads[0].name], "io");
    assert_string_equal(c.dictionary.strings[c.samples.processes[0].comm], "renamed");
    chunk_deinit(&c);
    aggregate_free(a);
}

static void names_may_be_missing(void **state)
{
    struct resolved_frame frames[] = {{.kind = FRAME_NATIVE, .offset = 5}};
    struct resolved_sample s = sample(frames, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    s.comm = s.thread_name = NULL;
    add(a, &s);
    c = take(a);
    assert_int_equal(c.samples.threads[0].name, CHUNK_NO_PARENT);
    assert_int_equal(c.samples.processes[0].comm, CHUNK_NO_PARENT);
    assert_int_equal(c.dictionary.binaries[0].path, CHUNK_NO_PARENT);
    assert_int_equal(c.dictionary.binaries[0].id.length, 0);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void each_process_carries_its_labels(void **state)
{
    struct resolved_frame frames[] = {native(10)};
    struct resolved_sample s = sample(frames, 1);
    struct labels labels = {0};
    struct aggregate *a = new_aggregate();
    struct chunk c;
    const struct chunk_process *p;

    (void)state;
    assert_int_equal(labels_set_pair(&labels, "cgroup=/a.service"), ST_OK);
    assert_int_equal(labels_set_pair(&labels, "service=a"), ST_OK);
    add(a, &s);
    s.process_serial = 2;
    s.labels = &labels;
    add(a, &s);
    add(a, &s);
    c = take(a);
    p = c.samples.processes;
    assert_int_equal(c.samples.label_count, 2);
    assert_int_equal(p[0].label_count, 0);
    assert_int_equal(p[1].label_count, 2);
    assert_string_equal(c.dictionary.strings[c.samples.labels[p[1].first_label].value],
                        "/a.service");
    labels_deinit(&labels);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void texts_are_cut_and_repaired(void **state)
{
    static char text[TEXT_MAX];
    struct resolved_frame frames[] = {{FRAME_NAMED, NULL, NULL, text, 0},
                                      {FRAME_NAMED, NULL, NULL, "a\xff", 0},
                                      {FRAME_NAMED, NULL, NULL, "a?", 0}};
    struct resolved_sample s = sample(frames, 3);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    text[CHUNK_STRING_BYTES_MAX - 1] = (char)0xc3; /* two bytes of one letter: not to be split */
    text[CHUNK_STRING_BYTES_MAX] = (char)0xbc;
    add(a, &s);
    c = take(a);
    assert_int_equal(c.dictionary.frame_count, 2);
    assert_int_equal(strlen(c.dictionary.strings[c.dictionary.frames[0].name]),
                     CHUNK_STRING_BYTES_MAX - 1);
    assert_string_equal(c.dictionary.strings[c.dictionary.frames[1].name], "a?");
    chunk_deinit(&c);
    aggregate_free(a);
}

/* ---- time ---- */

static void ticks_are_of_the_window_and_ascend(void **state)
{
    static const uint64_t times_us[] = {300, 150, 9999999, 450};
    static const uint32_t ticks[] = {0, 1, 3, 4, 99999, 100000};
    struct resolved_frame frames[] = {native(10)};
    struct resolved_sample s = sample(frames, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        s.time = mono_after(start, times_us[i] * NS_PER_US);
        add(a, &s);
    }
    s.time = (struct mono){start.ns - 5}; /* outside: to the nearest edge */
    add(a, &s);
    s.time = mono_after(end, NS_PER_S);
    add(a, &s);
    c = take(a);
    assert_int_equal(c.samples.group_count, 1);
    assert_int_equal(c.samples.sample_count, 6);
    assert_memory_equal(c.samples.ticks, ticks, sizeof(ticks));
    chunk_deinit(&c);
    aggregate_free(a);
}

static void a_window_leaves_nothing_to_the_next(void **state)
{
    struct resolved_frame one[] = {native(10)}, two[] = {native(20)};
    struct resolved_sample s = sample(one, 1), t = sample(two, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    s.frame_count = 0;
    assert_int_equal(aggregate_add(a, &s), ST_INVALID);
    s.frame_count = 1;
    add(a, &s);
    c = take(a);
    chunk_deinit(&c);
    assert_int_equal(aggregate_samples(a), 0);
    assert_int_equal(aggregate_refused(a), 0);
    add(a, &t);
    c = take(a);
    assert_int_equal(c.dictionary.frame_count, 1);
    assert_int_equal(c.dictionary.frames[0].offset, 20);
    chunk_deinit(&c);
    aggregate_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_window_is_an_empty_chunk),
        cmocka_unit_test(recursion_is_kept_frame_by_frame),
        cmocka_unit_test(a_sample_with_repeats_is_so_many_samples_at_their_times),
        cmocka_unit_test(a_stack_is_kept_once_however_many_threads_share_it),
        cmocka_unit_test(a_prefix_is_shared_and_a_suffix_is_not),
        cmocka_unit_test(frames_are_sorted_by_binary_and_offset),
        cmocka_unit_test(one_pid_used_twice_is_two_processes),
        cmocka_unit_test(names_are_those_seen_last),
        cmocka_unit_test(names_may_be_missing),
        cmocka_unit_test(each_process_carries_its_labels),
        cmocka_unit_test(texts_are_cut_and_repaired),
        cmocka_unit_test(ticks_are_of_the_window_and_ascend),
        cmocka_unit_test(a_window_leaves_nothing_to_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
