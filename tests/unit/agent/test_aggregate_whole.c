/* aggregate: what goes in as samples comes out as a chunk that says the same, or is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rng.h"
#include "tests/unit/agent/aggregate_window.h"

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
        cmocka_unit_test(a_stack_of_no_frames_or_too_many_is_refused),
        cmocka_unit_test(a_frame_of_no_kind_is_refused),
        cmocka_unit_test(a_full_table_refuses_and_what_is_known_still_goes_in),
        cmocka_unit_test(full_labels_leave_no_half_a_process),
        cmocka_unit_test(long_texts_fill_up_before_a_chunk_is_too_big_to_send),
        cmocka_unit_test(what_goes_in_comes_out_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
