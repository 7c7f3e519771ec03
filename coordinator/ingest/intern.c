/* Strings, then the binaries that name them, then frames, then nodes: each kind only refers to
 * those before it, so one pass over each translates everything. */
#include "coordinator/ingest/intern.h"

#include <stdlib.h>

#include "coordinator/ingest/ingest.h"

#define NO_ROOM CHUNK_NO_PARENT /* the id of a binary that did not fit */

struct intern {
    struct store_txn *txn;
    struct chunk *chunk;
    uint32_t *strings, *binaries, *frames, *nodes; /* ids, by the chunk's indexes */
    bool *cut; /* by node: it or a caller of it became the mark */
    uint32_t mark_string, mark_frame, mark_node;
};

static void *table(uint32_t count, size_t item_bytes)
{
    return calloc(count > 0 ? count : 1, item_bytes);
}

static enum status init(struct intern *n, struct store_txn *t, struct chunk *c)
{
    const struct chunk_dictionary *d = &c->dictionary;

    *n = (struct intern){.txn = t, .chunk = c};
    n->strings = table(d->string_count, sizeof(*n->strings));
    n->binaries = table(d->binary_count, sizeof(*n->binaries));
    n->frames = table(d->frame_count, sizeof(*n->frames));
    n->nodes = table(d->node_count, sizeof(*n->nodes));
    n->cut = table(d->node_count, sizeof(*n->cut));
    if (n->strings == NULL || n->binaries == NULL || n->frames == NULL || n->nodes == NULL ||
        n->cut == NULL)
        return ST_NOMEM;
    return ST_OK;
}

static void deinit(struct intern *n)
{
    free(n->strings);
    free(n->binaries);
    free(n->frames);
    free(n->nodes);
    free(n->cut);
}

/* With every chunk: the first one gives the mark its ids while there is room, and an id remembered
 * here would not survive that batch's failure. */
static enum status intern_mark(struct intern *n)
{
    struct chunk_frame frame = {.kind = FRAME_MARK, .binary = CHUNK_NO_PARENT};
    struct chunk_node node = {.parent = CHUNK_NO_PARENT};
    enum status st = store_txn_string(n->txn, INGEST_FULL_MARK, &n->mark_string);

    frame.name = n->mark_string;
    if (st == ST_OK)
        st = store_txn_frame(n->txn, &frame, &n->mark_frame);
    node.frame = n->mark_frame;
    if (st == ST_OK)
        st = store_txn_node(n->txn, node, &n->mark_node);
    return st;
}

/* The outcome of adding something: a full dictionary is no failure. When it was LMDB that was full,
 * the batch fails as a whole later on. */
static enum status fold(enum status st, uint32_t mark, uint32_t *id)
{
    if (st != ST_FULL)
        return st;
    *id = mark;
    return ST_OK;
}

static uint32_t optional(const uint32_t *ids, uint32_t index)
{
    return index == CHUNK_NO_PARENT ? CHUNK_NO_PARENT : ids[index];
}

static enum status intern_strings(struct intern *n)
{
    const struct chunk_dictionary *d = &n->chunk->dictionary;
    enum status st = ST_OK;

    for (uint32_t i = 0; i < d->string_count && st == ST_OK; i++) {
        st = store_txn_string(n->txn, d->strings[i], &n->strings[i]);
        st = fold(st, n->mark_string, &n->strings[i]);
    }
    return st;
}

static enum status intern_binaries(struct intern *n)
{
    struct chunk_dictionary *d = &n->chunk->dictionary;
    enum status st = ST_OK;

    for (uint32_t i = 0; i < d->binary_count && st == ST_OK; i++) {
        struct chunk_binary *b = &d->binaries[i];

        st = store_txn_binary(n->txn, &b->id, optional(n->strings, b->path), &n->binaries[i]);
        st = fold(st, NO_ROOM, &n->binaries[i]);
        if (st == ST_OK && n->binaries[i] == NO_ROOM)
            b->id = (struct build_id){0};
    }
    return st;
}

/* A frame is named by its binary or its name; without room for that it has none itself. */
static enum status intern_frame(struct intern *n, struct chunk_frame frame, uint32_t *id)
{
    frame.binary = optional(n->binaries, frame.binary);
    frame.name = optional(n->strings, frame.name);
    if (frame.name == n->mark_string ||
        (frame.name == CHUNK_NO_PARENT && frame.binary == NO_ROOM)) {
        *id = n->mark_frame;
        return ST_OK;
    }
    return fold(store_txn_frame(n->txn, &frame, id), n->mark_frame, id);
}

static enum status intern_frames(struct intern *n)
{
    const struct chunk_dictionary *d = &n->chunk->dictionary;
    enum status st = ST_OK;

    for (uint32_t i = 0; i < d->frame_count && st == ST_OK; i++)
        st = intern_frame(n, d->frames[i], &n->frames[i]);
    return st;
}

static enum status intern_nodes(struct intern *n)
{
    const struct chunk_dictionary *d = &n->chunk->dictionary;
    enum status st = ST_OK;

    for (uint32_t i = 0; i < d->node_count && st == ST_OK; i++) {
        uint32_t caller = d->nodes[i].parent;
        struct chunk_node node = {optional(n->nodes, caller), n->frames[d->nodes[i].frame]};

        st = fold(store_txn_node(n->txn, node, &n->nodes[i]), n->mark_node, &n->nodes[i]);
        n->cut[i] = n->nodes[i] == n->mark_node || node.frame == n->mark_frame ||
                    (caller != CHUNK_NO_PARENT && n->cut[caller]);
    }
    return st;
}

/* Returns the number of samples whose stack was cut. */
static uint32_t rewrite_samples(struct intern *n)
{
    struct chunk_samples *s = &n->chunk->samples;
    uint32_t folded = 0;

    for (uint32_t i = 0; i < s->label_count; i++) {
        s->labels[i].key = n->strings[s->labels[i].key];
        s->labels[i].value = n->strings[s->labels[i].value];
    }
    for (uint32_t i = 0; i < s->process_count; i++)
        s->processes[i].comm = optional(n->strings, s->processes[i].comm);
    for (uint32_t i = 0; i < s->thread_count; i++)
        s->threads[i].name = optional(n->strings, s->threads[i].name);
    for (uint32_t i = 0; i < s->group_count; i++) {
        struct chunk_group *g = &s->groups[i];

        folded += n->cut[g->leaf] ? g->count : 0;
        g->leaf = n->nodes[g->leaf];
    }
    return folded;
}

enum status intern_chunk(struct store_txn *t, struct chunk *c, uint32_t *folded)
{
    struct intern n;
    enum status st = init(&n, t, c);

    if (st == ST_OK)
        st = intern_mark(&n);
    if (st == ST_OK)
        st = intern_strings(&n);
    if (st == ST_OK)
        st = intern_binaries(&n);
    if (st == ST_OK)
        st = intern_frames(&n);
    if (st == ST_OK)
        st = intern_nodes(&n);
    if (st == ST_OK)
        *folded = rewrite_samples(&n);
    deinit(&n);
    return st;
}
