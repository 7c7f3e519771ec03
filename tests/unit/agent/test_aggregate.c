/* aggregate: what goes in as samples comes out as a chunk that says the same. */
#include "agent/aggregate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rng.h"

enum { TEXT_MAX = 1 << 16 };

static const struct mono start = {1000 * NS_PER_S}, end = {1010 * NS_PER_S};
static const struct build_id libc_id = {20, {1, 2, 3}}, kernel_id = {20, {9}};

static struct resolved_frame native(uint64_t offset)
{
    return (struct resolved_frame){FRAME_NATIVE, &libc_id, "/lib/libc.so.6", NULL, offset};
}

static struct resolved_sample sample(const struct resolved_frame *frames, uint32_t count)
{
    return (struct resolved_sample){.time = mono_after(start, NS_PER_S),
                                    .pid = 7,
                                    .tid = 8,
                                    .process_serial = 1,
                                    .process_start_ns = 500,
                                    .comm = "server",
                                    .thread_name = "worker",
                                    .frames = frames,
                                    .frame_count = count};
}

static struct aggregate *new_aggregate(void)
{
    struct aggregate *a = NULL;

    assert_int_equal(aggregate_new(&a), ST_OK);
    return a;
}

static void add(struct aggregate *a, const struct resolved_sample *s)
{
    assert_int_equal(aggregate_add(a, s), ST_OK);
}

/* Takes the window, and sends it through the codec: what the coordinator would see. */
static struct chunk take(struct aggregate *a)
{
    struct chunk c = {.info = {.profiler = {{1}},
                               .sequence = 1,
                               .start = start,
                               .end = end,
                               .event = EVENT_CPU,
                               .period_ns = NS_PER_S / 99,
                               .inclusion = 1}};
    struct chunk seen;
    struct blob bytes = {0};
    const char *why = NULL;

    assert_int_equal(aggregate_take(a, start, end, &c), ST_OK);
    c.info.ledger.delivered = c.samples.sample_count;
    assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &bytes), ST_OK);
    assert_int_equal(chunk_decode(blob_slice(&bytes), CHUNK_WIRE, &seen, &why), ST_OK);
    blob_deinit(&bytes);
    chunk_deinit(&c);
    return seen;
}

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
    memcpy(text + CHUNK_STRING_BYTES_MAX - 1, "\xc3\xbc", 2); /* must not be split */
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

/* ---- limits ---- */

static void a_stack_of_no_frames_or_too_many_is_refused(void **state)
{
    static struct resolved_frame frames[CHUNK_DEPTH_MAX + 1];
    struct resolved_sample s = sample(frames, CHUNK_DEPTH_MAX + 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    for (uint32_t i = 0; i <= CHUNK_DEPTH_MAX; i++)
        frames[i] = native(1);
    assert_int_equal(aggregate_add(a, &s), ST_TOO_BIG);
    s.frame_count = 0;
    assert_int_equal(aggregate_add(a, &s), ST_INVALID);
    s.frame_count = CHUNK_DEPTH_MAX;
    add(a, &s);
    assert_int_equal(aggregate_refused(a), 2);
    assert_int_equal(aggregate_samples(a), 1);
    c = take(a);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void a_frame_of_no_kind_is_refused(void **state)
{
    struct resolved_frame frames[] = {native(10), {.kind = (enum frame_kind)77}};
    struct resolved_sample s = sample(frames, 2);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    assert_int_equal(aggregate_add(a, &s), ST_INVALID);
    assert_int_equal(aggregate_refused(a), 1);
    c = take(a);
    assert_int_equal(c.samples.sample_count, 0);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void a_full_table_refuses_and_what_is_known_still_goes_in(void **state)
{
    struct resolved_frame frames[] = {native(10)};
    struct resolved_sample s = sample(frames, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;

    (void)state;
    s.comm = s.thread_name = NULL;
    for (uint32_t i = 0; i < CHUNK_PROCESSES_MAX; i++) {
        s.process_serial = i;
        add(a, &s);
    }
    s.process_serial = CHUNK_PROCESSES_MAX;
    assert_int_equal(aggregate_add(a, &s), ST_FULL);
    assert_int_equal(aggregate_add(a, &s), ST_FULL);
    assert_int_equal(aggregate_refused(a), 2);
    s.process_serial = 3;
    add(a, &s);
    c = take(a);
    assert_int_equal(c.samples.process_count, CHUNK_PROCESSES_MAX);
    assert_int_equal(c.samples.sample_count, CHUNK_PROCESSES_MAX + 1);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void full_labels_leave_no_half_a_process(void **state)
{
    struct resolved_frame frames[] = {native(10)};
    struct resolved_sample s = sample(frames, 1);
    struct labels labels = {0};
    struct aggregate *a = new_aggregate();
    struct chunk c;
    char key[LABEL_KEY_MAX];

    (void)state;
    for (int i = 0; i < 60; i++) { /* does not divide the limit */
        snprintf(key, sizeof(key), "key%d", i);
        assert_int_equal(labels_set(&labels, key, "value"), ST_OK);
    }
    s.labels = &labels;
    for (uint32_t i = 0; i < CHUNK_LABELS_MAX / 60; i++) {
        s.process_serial = i;
        add(a, &s);
    }
    s.process_serial = CHUNK_LABELS_MAX;
    assert_int_equal(aggregate_add(a, &s), ST_FULL);
    s.labels = NULL;
    add(a, &s);
    c = take(a);
    assert_int_equal(c.samples.process_count, CHUNK_LABELS_MAX / 60 + 1);
    assert_int_equal(c.samples.label_count, CHUNK_LABELS_MAX / 60 * 60);
    labels_deinit(&labels);
    chunk_deinit(&c);
    aggregate_free(a);
}

static void long_texts_fill_up_before_a_chunk_is_too_big_to_send(void **state)
{
    static char text[CHUNK_STRING_BYTES_MAX + 1];
    struct resolved_frame frames[] = {{FRAME_NAMED, NULL, NULL, text, 0}};
    struct resolved_sample s = sample(frames, 1);
    struct aggregate *a = new_aggregate();
    struct chunk c;
    enum status st = ST_OK;
    uint32_t i;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    for (i = 0; i < CHUNK_STRINGS_MAX && st == ST_OK; i++) {
        snprintf(text, 9, "%08u", i);
        text[8] = 'x';
        st = aggregate_add(a, &s);
    }
    assert_int_equal(st, ST_FULL);
    assert_int_equal(aggregate_samples(a), i - 1);
    c = take(a);
    chunk_deinit(&c);
    aggregate_free(a);
}

/* ---- the whole, at random ---- */

enum { RANDOM_SAMPLES = 3000, RANDOM_DEPTH = 12, LINE_MAX = 1024 };

static char *lines_in[RANDOM_SAMPLES], *lines_out[RANDOM_SAMPLES];

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void append(char line[LINE_MAX], const char *path, const char *name, uint64_t offset)
{
    size_t length = strlen(line);

    snprintf(line + length, LINE_MAX - length, " %s%s+%llu;", path, name,
             (unsigned long long)offset);
}

static void append_node(const struct chunk *c, uint32_t node, char line[LINE_MAX])
{
    const struct chunk_dictionary *d = &c->dictionary;
    const struct chunk_frame *f = &d->frames[d->nodes[node].frame];

    if (d->nodes[node].parent != CHUNK_NO_PARENT)
        append_node(c, d->nodes[node].parent, line);
    if (f->binary != CHUNK_NO_PARENT)
        append(line, d->strings[d->binaries[f->binary].path], "", f->offset);
    else
        append(line, "", d->strings[f->name], 0);
}

static void describe_chunk(const struct chunk *c)
{
    const uint32_t *tick = c->samples.ticks;
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->samples.group_count; i++) {
        const struct chunk_group *g = &c->samples.groups[i];
        const struct chunk_thread *t = &c->samples.threads[g->thread];

        for (uint32_t k = 0; k < g->count; k++) {
            char line[LINE_MAX];

            snprintf(line, sizeof(line), "%u/%u/%llu @%u", c->samples.processes[t->process].pid,
                     t->tid, (unsigned long long)c->samples.processes[t->process].start_ns,
                     *tick++);
            append_node(c, g->leaf, line);
            lines_out[n++] = strdup(line);
        }
    }
}

static void describe_sample(const struct resolved_sample *s, char **out)
{
    char line[LINE_MAX];

    snprintf(line, sizeof(line), "%u/%u/%llu @%u", s->pid, s->tid,
             (unsigned long long)s->process_start_ns,
             (unsigned)(mono_since(s->time, start) / CHUNK_TICK_NS));
    for (uint32_t i = 0; i < s->frame_count; i++)
        append(line, s->frames[i].path != NULL ? s->frames[i].path : "",
               s->frames[i].name != NULL ? s->frames[i].name : "", s->frames[i].offset);
    *out = strdup(line);
}

static struct resolved_frame random_frame(struct rng *rng)
{
    static const char *const names[] = {"jit:a", "jit:b", "", "[no stack]"};
    uint32_t which = rng_below(rng, 4);

    switch (rng_below(rng, 4)) {
    case 0:
        return (struct resolved_frame){rng_below(rng, 2) ? FRAME_NAMED : FRAME_MARK, NULL, NULL,
                                       names[which], 0};
    case 1:
        return (struct resolved_frame){FRAME_KERNEL, &kernel_id, "[kernel]", NULL,
                                       rng_below(rng, 9)};
    default:
        return (struct resolved_frame){FRAME_NATIVE, &libc_id,
                                       which ? "/lib/libc.so.6" : "/old/libc.so.6", NULL,
                                       rng_u64(rng) >> (40 + rng_below(rng, 24))};
    }
}

static void what_goes_in_comes_out_at_random(void **state)
{
    struct rng rng = rng_new();
    struct aggregate *a = new_aggregate();
    struct resolved_frame frames[RANDOM_DEPTH];
    struct chunk c;

    (void)state;
    for (uint32_t i = 0; i < RANDOM_SAMPLES; i++) {
        struct resolved_sample s = sample(frames, 1 + rng_below(&rng, RANDOM_DEPTH));

        /* What is left of the last stack is a prefix that recurs. */
        for (uint32_t k = i == 0 ? 0 : rng_below(&rng, RANDOM_DEPTH); k < RANDOM_DEPTH; k++)
            frames[k] = random_frame(&rng);
        s.process_serial = s.process_start_ns = rng_below(&rng, 20);
        s.pid = 100 + (uint32_t)s.process_serial % 10;
        s.tid = s.pid + rng_below(&rng, 4);
        s.time = mono_after(start, rng_u64(&rng) % (10 * NS_PER_S));
        add(a, &s);
        describe_sample(&s, &lines_in[i]);
    }
    c = take(a);
    assert_int_equal(c.samples.sample_count, RANDOM_SAMPLES);
    describe_chunk(&c);
    qsort(lines_in, RANDOM_SAMPLES, sizeof(*lines_in), compare_lines);
    qsort(lines_out, RANDOM_SAMPLES, sizeof(*lines_out), compare_lines);
    for (uint32_t i = 0; i < RANDOM_SAMPLES; i++) {
        assert_string_equal(lines_in[i], lines_out[i]);
        free(lines_in[i]);
        free(lines_out[i]);
    }
    chunk_deinit(&c);
    aggregate_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_window_is_an_empty_chunk),
        cmocka_unit_test(recursion_is_kept_frame_by_frame),
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
        cmocka_unit_test(a_stack_of_no_frames_or_too_many_is_refused),
        cmocka_unit_test(a_frame_of_no_kind_is_refused),
        cmocka_unit_test(a_full_table_refuses_and_what_is_known_still_goes_in),
        cmocka_unit_test(full_labels_leave_no_half_a_process),
        cmocka_unit_test(long_texts_fill_up_before_a_chunk_is_too_big_to_send),
        cmocka_unit_test(what_goes_in_comes_out_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
