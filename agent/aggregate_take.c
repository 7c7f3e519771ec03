/* The window as a chunk. Rows are put in an order in which numbers that lie side by side in the
 * chunk differ little: frames by binary and offset, nodes depth first, threads by process, groups
 * by leaf. This happens in the window's own tables, which are emptied afterwards. */
#include <stdlib.h>
#include <string.h>

#include "agent/aggregate_tables.h"

static void *table_of(uint32_t rows, size_t row_bytes)
{
    return calloc(rows > 0 ? rows : 1, row_bytes);
}

/* ---- order ---- */

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_frames(const void *a, const void *b, void *rows)
{
    const struct frame_row *l = (struct frame_row *)rows + *(const uint32_t *)a;
    const struct frame_row *r = (struct frame_row *)rows + *(const uint32_t *)b;

    if (l->kind != r->kind)
        return compare(l->kind, r->kind);
    if (l->binary != r->binary)
        return compare(l->binary, r->binary);
    if (l->offset != r->offset)
        return compare(l->offset, r->offset);
    return compare(l->name, r->name);
}

static int compare_threads(const void *a, const void *b, void *rows)
{
    const struct chunk_thread *l = (struct chunk_thread *)rows + *(const uint32_t *)a;
    const struct chunk_thread *r = (struct chunk_thread *)rows + *(const uint32_t *)b;

    return l->process != r->process ? compare(l->process, r->process) : compare(l->tid, r->tid);
}

static int compare_groups(const void *a, const void *b, void *rows)
{
    const struct chunk_group *l = (struct chunk_group *)rows + *(const uint32_t *)a;
    const struct chunk_group *r = (struct chunk_group *)rows + *(const uint32_t *)b;

    return l->leaf != r->leaf ? compare(l->leaf, r->leaf) : compare(l->thread, r->thread);
}

static int compare_ticks(const void *a, const void *b)
{
    return compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

/* Puts the rows in the order whose old numbers are `order`; new numbers by old go to `out`. */
static enum status reorder(struct rows *r, const uint32_t *order, uint32_t **out_numbers)
{
    uint32_t *numbers = table_of(r->count, sizeof(*numbers));
    char *rows = table_of(r->count, r->row_bytes);

    if (numbers == NULL || rows == NULL) {
        free(numbers);
        free(rows);
        return ST_NOMEM;
    }
    for (uint32_t i = 0; i < r->count; i++) {
        memcpy(rows + i * r->row_bytes, (char *)r->at + order[i] * r->row_bytes, r->row_bytes);
        numbers[order[i]] = i;
    }
    free(r->at);
    r->at = rows;
    *out_numbers = numbers;
    return ST_OK;
}

static enum status sort(struct rows *r, int (*compare_rows)(const void *, const void *, void *),
                        uint32_t **out_numbers)
{
    uint32_t *order = table_of(r->count, sizeof(*order));
    enum status st;

    if (order == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < r->count; i++)
        order[i] = i;
    qsort_r(order, r->count, sizeof(*order), compare_rows, r->at);
    st = reorder(r, order, out_numbers);
    free(order);
    return st;
}

/* ---- the tree of stacks ---- */

#define NONE CHUNK_NO_PARENT

struct tree { /* by node; the node past the last is the parent of the outermost frames */
    const struct chunk_node *nodes;
    uint32_t count;
    uint32_t *first_child, *next_sibling;
};

static void grow_tree(struct tree *t)
{
    for (uint32_t i = 0; i <= t->count; i++)
        t->first_child[i] = NONE;
    for (uint32_t i = t->count; i-- > 0;) { /* backwards: the first seen comes first */
        uint32_t parent = t->nodes[i].parent;
        uint32_t *first = &t->first_child[parent == CHUNK_NO_PARENT ? t->count : parent];

        t->next_sibling[i] = *first;
        *first = i;
    }
}

static uint32_t next_in_depth(const struct tree *t, uint32_t node)
{
    if (t->first_child[node] != NONE)
        return t->first_child[node];
    while (node != NONE && t->next_sibling[node] == NONE)
        node = t->nodes[node].parent;
    return node != NONE ? t->next_sibling[node] : NONE;
}

static enum status sort_nodes(struct rows *r, uint32_t **out_numbers)
{
    struct tree t = {.nodes = r->at,
                     .count = r->count,
                     .first_child = table_of(r->count + 1, sizeof(uint32_t)),
                     .next_sibling = table_of(r->count, sizeof(uint32_t))};
    uint32_t *order = table_of(r->count, sizeof(*order));
    enum status st = ST_NOMEM;
    uint32_t n = 0;

    if (t.first_child == NULL || t.next_sibling == NULL || order == NULL)
        goto out;
    grow_tree(&t);
    for (uint32_t node = t.first_child[t.count]; node != NONE; node = next_in_depth(&t, node))
        order[n++] = node;
    st = reorder(r, order, out_numbers);
out:
    free(order);
    free(t.next_sibling);
    free(t.first_child);
    return st;
}

/* ---- tables of the chunk ---- */

static void *take_rows(struct rows *r, uint32_t *out_count)
{
    void *at = r->at;

    *out_count = r->count;
    r->at = NULL;
    rows_deinit(r);
    return at;
}

static enum status take_strings(struct aggregate *a, struct chunk_dictionary *d)
{
    const uint32_t *starts = a->strings.starts.at;

    d->strings = table_of(a->strings.starts.count, sizeof(*d->strings));
    if (d->strings == NULL)
        return ST_NOMEM;
    d->text = a->strings.bytes;
    a->strings.bytes = NULL;
    d->string_count = a->strings.starts.count;
    for (uint32_t i = 0; i < d->string_count; i++)
        d->strings[i] = d->text + starts[i];
    return ST_OK;
}

static enum status take_binaries(struct aggregate *a, struct chunk_dictionary *d)
{
    const struct binary_row *rows = a->binaries.rows.at;

    d->binaries = table_of(a->binaries.rows.count, sizeof(*d->binaries));
    if (d->binaries == NULL)
        return ST_NOMEM;
    d->binary_count = a->binaries.rows.count;
    for (uint32_t i = 0; i < d->binary_count; i++)
        d->binaries[i] = (struct chunk_binary){rows[i].id, rows[i].path};
    return ST_OK;
}

static enum status take_frames(struct aggregate *a, struct chunk_dictionary *d)
{
    const struct frame_row *rows = a->frames.rows.at;

    d->frames = table_of(a->frames.rows.count, sizeof(*d->frames));
    if (d->frames == NULL)
        return ST_NOMEM;
    d->frame_count = a->frames.rows.count;
    for (uint32_t i = 0; i < d->frame_count; i++)
        d->frames[i] = (struct chunk_frame){(enum frame_kind)rows[i].kind, rows[i].binary,
                                            rows[i].name, rows[i].offset};
    return ST_OK;
}

static enum status take_processes(struct aggregate *a, struct chunk_samples *s)
{
    const struct process_row *rows = a->processes.rows.at;

    s->processes = table_of(a->processes.rows.count, sizeof(*s->processes));
    if (s->processes == NULL)
        return ST_NOMEM;
    s->process_count = a->processes.rows.count;
    for (uint32_t i = 0; i < s->process_count; i++)
        s->processes[i] = rows[i].process;
    s->labels = take_rows(&a->labels, &s->label_count);
    return ST_OK;
}

/* ---- one table's new numbers in another ---- */

static enum status order_stacks(struct aggregate *a)
{
    struct chunk_group *groups = a->groups.rows.at;
    struct chunk_node *nodes;
    uint32_t *frames = NULL, *numbers = NULL;
    enum status st = sort(&a->frames.rows, compare_frames, &frames);

    if (st == ST_OK)
        st = sort_nodes(&a->nodes.rows, &numbers);
    if (st != ST_OK)
        goto out;
    nodes = a->nodes.rows.at;
    for (uint32_t i = 0; i < a->nodes.rows.count; i++) {
        nodes[i].frame = frames[nodes[i].frame];
        if (nodes[i].parent != CHUNK_NO_PARENT)
            nodes[i].parent = numbers[nodes[i].parent];
    }
    for (uint32_t i = 0; i < a->groups.rows.count; i++)
        groups[i].leaf = numbers[groups[i].leaf];
out:
    free(numbers);
    free(frames);
    return st;
}

static enum status order_threads(struct aggregate *a)
{
    struct chunk_group *groups = a->groups.rows.at;
    uint32_t *numbers = NULL;
    enum status st = sort(&a->threads.rows, compare_threads, &numbers);

    for (uint32_t i = 0; st == ST_OK && i < a->groups.rows.count; i++)
        groups[i].thread = numbers[groups[i].thread];
    free(numbers);
    return st;
}

/* After the stacks and the threads, by whose new numbers groups are sorted. */
static enum status order_groups(struct aggregate *a)
{
    struct sample_row *samples = a->samples.at;
    uint32_t *numbers = NULL;
    enum status st = sort(&a->groups.rows, compare_groups, &numbers);

    for (uint32_t i = 0; st == ST_OK && i < a->samples.count; i++)
        samples[i].group = numbers[samples[i].group];
    free(numbers);
    return st;
}

/* ---- ticks ---- */

static uint32_t tick_of(struct mono time, struct mono start, struct mono end)
{
    struct mono t = time.ns < end.ns ? time : end;

    return (uint32_t)(mono_since(t, start) / CHUNK_TICK_NS);
}

/* Samples of several CPUs come nearly in order: most groups are ascending as they are. */
static void sort_ticks(uint32_t *ticks, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (ticks[i] < ticks[i - 1]) {
            qsort(ticks, count, sizeof(*ticks), compare_ticks);
            return;
        }
}

/* After the groups were put in order. */
static enum status take_ticks(const struct aggregate *a, struct mono start, struct mono end,
                              struct chunk_samples *s)
{
    const struct chunk_group *groups = a->groups.rows.at;
    const struct sample_row *samples = a->samples.at;
    uint32_t *next = table_of(a->groups.rows.count, sizeof(*next)), first = 0;

    s->ticks = table_of(a->samples.count, sizeof(*s->ticks));
    if (next == NULL || s->ticks == NULL) {
        free(next);
        return ST_NOMEM;
    }
    s->sample_count = a->samples.count;
    for (uint32_t i = 0; i < a->groups.rows.count; first += groups[i++].count)
        next[i] = first;
    for (uint32_t i = 0; i < s->sample_count; i++)
        s->ticks[next[samples[i].group]++] = tick_of(samples[i].time, start, end);
    for (uint32_t i = 0; i < a->groups.rows.count; i++)
        sort_ticks(s->ticks + next[i] - groups[i].count, groups[i].count);
    free(next);
    return ST_OK;
}

/* ---- the whole ---- */

static enum status put_in_order(struct aggregate *a)
{
    enum status st = order_stacks(a);

    if (st == ST_OK)
        st = order_threads(a);
    if (st == ST_OK)
        st = order_groups(a);
    return st;
}

static enum status take_tables(struct aggregate *a, struct chunk *c)
{
    enum status st = take_strings(a, &c->dictionary);

    if (st == ST_OK)
        st = take_binaries(a, &c->dictionary);
    if (st == ST_OK)
        st = take_frames(a, &c->dictionary);
    if (st == ST_OK)
        st = take_processes(a, &c->samples);
    if (st != ST_OK)
        return st;
    c->dictionary.nodes = take_rows(&a->nodes.rows, &c->dictionary.node_count);
    c->samples.threads = take_rows(&a->threads.rows, &c->samples.thread_count);
    c->samples.groups = take_rows(&a->groups.rows, &c->samples.group_count);
    return ST_OK;
}

enum status aggregate_take(struct aggregate *a, struct mono start, struct mono end,
                           struct chunk *out)
{
    struct chunk c = {0};
    enum status st = put_in_order(a);

    if (st == ST_OK)
        st = take_ticks(a, start, end, &c.samples);
    if (st == ST_OK)
        st = take_tables(a, &c);
    aggregate_reset(a);
    if (st != ST_OK) {
        chunk_deinit(&c);
        return st;
    }
    out->dictionary = c.dictionary;
    out->samples = c.samples;
    return ST_OK;
}
