/* The window as it fills. aggregate_take.c makes a chunk of it. */
#include "agent/aggregate.h"

#include <stddef.h>
#include <stdlib.h>

#include "agent/aggregate_tables.h"

/* Leaves the other half of a chunk to its numbers: full tables take about 14 MiB. */
enum { TEXT_BYTES_MAX = CHUNK_PLAIN_MAX / 2 };

enum status aggregate_new(struct aggregate **out)
{
    struct aggregate *a = malloc(sizeof(*a));

    if (a == NULL)
        return ST_NOMEM;
    *a = (struct aggregate){
        .strings = {.starts = {sizeof(uint32_t), CHUNK_STRINGS_MAX},
                    .bytes_limit = TEXT_BYTES_MAX,
                    .longest = CHUNK_STRING_BYTES_MAX},
        .binaries = {{sizeof(struct binary_row), CHUNK_BINARIES_MAX}, sizeof(struct binary_row)},
        .frames = {{sizeof(struct frame_row), CHUNK_FRAMES_MAX}, sizeof(struct frame_row)},
        .nodes = {{sizeof(struct chunk_node), CHUNK_NODES_MAX}, sizeof(struct chunk_node)},
        .processes = {{sizeof(struct process_row), CHUNK_PROCESSES_MAX}, sizeof(uint64_t)},
        .threads = {{sizeof(struct chunk_thread), CHUNK_THREADS_MAX},
                    offsetof(struct chunk_thread, name)},
        .groups = {{sizeof(struct chunk_group), CHUNK_SAMPLES_MAX},
                   offsetof(struct chunk_group, count)},
        .labels = {sizeof(struct chunk_label), CHUNK_LABELS_MAX},
        .samples = {sizeof(struct sample_row), CHUNK_SAMPLES_MAX},
    };
    *out = a;
    return ST_OK;
}

void aggregate_reset(struct aggregate *a)
{
    texts_deinit(&a->strings);
    interned_deinit(&a->binaries);
    interned_deinit(&a->frames);
    interned_deinit(&a->nodes);
    interned_deinit(&a->processes);
    interned_deinit(&a->threads);
    interned_deinit(&a->groups);
    rows_deinit(&a->labels);
    rows_deinit(&a->samples);
    a->walks = (struct walks){0};
    a->refused = 0;
}

void aggregate_free(struct aggregate *a)
{
    if (a == NULL)
        return;
    aggregate_reset(a);
    free(a);
}

static enum status add_text(struct aggregate *a, const char *text, uint32_t *out)
{
    if (text != NULL)
        return texts_add(&a->strings, text, out);
    *out = CHUNK_NO_PARENT;
    return ST_OK;
}

/* ---- stacks ---- */

static enum status add_binary(struct aggregate *a, const struct resolved_frame *f, uint32_t *out)
{
    struct binary_row row = {0};
    enum status st = add_text(a, f->path, &row.path);

    if (st != ST_OK)
        return st;
    if (f->binary != NULL)
        row.id = *f->binary;
    return interned_add(&a->binaries, &row, out);
}

static bool same_binary(const struct resolved_frame *f, const struct resolved_frame *g)
{
    return f->kind == g->kind && f->binary == g->binary && f->path == g->path;
}

/* `row` holds the frame before, which often lies in the same binary: `f` follows it in one stack.
 */
static enum status make_frame(struct aggregate *a, const struct resolved_frame *f, bool first,
                              struct frame_row *row)
{
    switch (f->kind) {
    case FRAME_NATIVE:
    case FRAME_KERNEL:
        row->kind = (uint32_t)f->kind;
        row->name = CHUNK_NO_PARENT;
        row->offset = f->offset;
        if (!first && same_binary(f, f - 1))
            return ST_OK;
        return add_binary(a, f, &row->binary);
    case FRAME_NAMED:
    case FRAME_MARK:
        *row = (struct frame_row){.kind = (uint32_t)f->kind, .binary = CHUNK_NO_PARENT};
        return add_text(a, f->name != NULL ? f->name : "", &row->name);
    }
    return ST_INVALID; /* a kind that is none */
}

static enum status add_stack(struct aggregate *a, const struct resolved_sample *s,
                             uint32_t *out_leaf)
{
    struct chunk_node node = {.parent = CHUNK_NO_PARENT};
    struct frame_row row = {0};
    enum status st = ST_OK;

    if (s->frame_count == 0)
        return ST_INVALID;
    if (s->frame_count > CHUNK_DEPTH_MAX)
        return ST_TOO_BIG;
    for (uint32_t i = 0; i < s->frame_count && st == ST_OK; i++) {
        st = make_frame(a, &s->frames[i], i == 0, &row);
        if (st == ST_OK)
            st = interned_add(&a->frames, &row, &node.frame);
        if (st == ST_OK)
            st = interned_add(&a->nodes, &node, &node.parent);
    }
    *out_leaf = node.parent;
    return st;
}

/* ---- processes and threads ---- */

static enum status add_labels(struct aggregate *a, const struct labels *labels)
{
    enum status st = ST_OK;

    for (size_t i = 0; i < labels->count && st == ST_OK; i++) {
        struct chunk_label label;

        st = add_text(a, labels->items[i].key, &label.key);
        if (st == ST_OK)
            st = add_text(a, labels->items[i].value, &label.value);
        if (st == ST_OK)
            st = rows_add(&a->labels, &label);
    }
    return st;
}

static enum status add_new_process(struct aggregate *a, const struct resolved_sample *s,
                                   uint32_t *out)
{
    uint32_t first_label = a->labels.count;
    struct process_row row = {
        s->process_serial,
        {.pid = s->pid, .start_ns = s->process_start_ns, .first_label = first_label}};
    enum status st = s->labels != NULL ? add_labels(a, s->labels) : ST_OK;

    row.process.label_count = a->labels.count - first_label;
    if (st == ST_OK)
        st = interned_add(&a->processes, &row, out);
    if (st != ST_OK)
        a->labels.count = first_label; /* of no process */
    return st;
}

/* Names are those that were seen last: what a process is called when the window closes. */
static enum status add_process(struct aggregate *a, const struct resolved_sample *s, uint32_t *out)
{
    uint32_t comm;
    enum status st = add_text(a, s->comm, &comm);

    if (st == ST_OK && !interned_find(&a->processes, &s->process_serial, out))
        st = add_new_process(a, s, out);
    if (st == ST_OK)
        ((struct process_row *)a->processes.rows.at)[*out].process.comm = comm;
    return st;
}

static enum status add_thread(struct aggregate *a, const struct resolved_sample *s, uint32_t *out)
{
    struct chunk_thread thread = {.tid = s->tid};
    enum status st = add_process(a, s, &thread.process);

    if (st == ST_OK)
        st = add_text(a, s->thread_name, &thread.name);
    if (st == ST_OK)
        st = interned_add(&a->threads, &thread, out);
    if (st == ST_OK)
        ((struct chunk_thread *)a->threads.rows.at)[*out].name = thread.name;
    return st;
}

/* ---- samples ---- */

/* What a refused sample left in the tables is used by the next like it, or by none. */
static enum status add_group(struct aggregate *a, const struct resolved_sample *s, uint32_t *out)
{
    struct chunk_group group = {0};
    enum status st = rows_reserve(&a->samples); /* first: a group needs its sample */

    if (st == ST_OK)
        st = add_stack(a, s, &group.leaf);
    if (st == ST_OK)
        st = add_thread(a, s, &group.thread);
    if (st == ST_OK)
        st = interned_add(&a->groups, &group, out);
    return st;
}

static enum status add_sample(struct aggregate *a, const struct sample_row *row, enum walk_end end)
{
    enum status st = rows_add(&a->samples, row);

    if (st != ST_OK)
        return st;
    ((struct chunk_group *)a->groups.rows.at)[row->group].count++;
    a->walks.count[end]++;
    return ST_OK;
}

enum status aggregate_add(struct aggregate *a, const struct resolved_sample *sample)
{
    uint64_t left = UINT64_C(1) + sample->repeats;
    struct sample_row row = {.time = sample->time};
    enum status st = add_group(a, sample, &row.group);

    while (st == ST_OK && left > 0) {
        st = add_sample(a, &row, sample->end);
        if (st != ST_OK)
            break;
        left--;
        row.time = mono_after(row.time, sample->step_ns);
    }
    a->refused += left;
    return st;
}

uint64_t aggregate_samples(const struct aggregate *a)
{
    return a->samples.count;
}

uint64_t aggregate_refused(const struct aggregate *a)
{
    return a->refused;
}

struct walks aggregate_walks(const struct aggregate *a)
{
    return a->walks;
}
