/* stacks - each leaf is followed outwards until a context is known, then the path back is numbered.
 */
#include "coordinator/query/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"
#include "coordinator/query/id_map.h"

struct builder {
    struct stacks stacks;
    struct symbolizer *symbolizer;
    const struct dictionary *dictionary;
    uint32_t node_count; /* of the dictionary */
    struct id_map contexts; /* by node */
    uint32_t unknown; /* the context of leaves that the dictionary does not have */
    uint32_t *path; /* nodes from a leaf outwards that have no context yet */
    uint32_t path_count, path_capacity;
};

/* Fills the path with what is not yet numbered; *out is the context that it hangs from. */
static enum status follow(struct builder *b, uint32_t node, uint32_t *out)
{
    b->path_count = 0;
    *out = STACKS_NONE;
    while (node != CHUNK_NO_PARENT) {
        uint32_t parent;

        *out = id_map_get(&b->contexts, node);
        if (*out != ID_MAP_NONE)
            return ST_OK;
        if (array_reserve(&b->path, &b->path_capacity, b->path_count, sizeof(*b->path)) != ST_OK)
            return ST_NOMEM;
        b->path[b->path_count++] = node;
        parent = dictionary_node(b->dictionary, node).parent;
        node = parent < node ? parent : CHUNK_NO_PARENT; /* never in circles, whatever is stored */
    }
    return ST_OK;
}

static enum status add_context(struct stacks *k, uint32_t node, uint32_t function, uint32_t parent)
{
    enum status st = array_reserve(&k->node, &k->node_capacity, k->count, sizeof(*k->node));

    if (st == ST_OK)
        st = array_reserve(&k->parent, &k->parent_capacity, k->count, sizeof(*k->parent));
    if (st == ST_OK)
        st = array_reserve(&k->function, &k->function_capacity, k->count, sizeof(*k->function));
    if (st != ST_OK)
        return st;
    k->node[k->count] = node;
    k->parent[k->count] = parent;
    k->function[k->count++] = function;
    return ST_OK;
}

/* One context for each function of the frame; *out is the innermost one's. */
static enum status number(struct builder *b, uint32_t node, uint32_t frame, uint32_t parent,
                          uint32_t *out)
{
    const struct frame_function *functions;
    uint32_t count, at = parent;
    enum status st = symbolizer_frame(b->symbolizer, frame, &functions, &count);

    for (uint32_t i = st == ST_OK ? count : 0; i > 0 && st == ST_OK; i--) {
        st = add_context(&b->stacks, node, functions[i - 1].function, at);
        at = b->stacks.count - 1;
    }
    if (st == ST_OK)
        *out = at;
    return st;
}

static enum status number_path(struct builder *b, uint32_t leaf, uint32_t *out)
{
    uint32_t at;
    enum status st = follow(b, leaf, &at);

    for (uint32_t i = b->path_count; i > 0 && st == ST_OK; i--) {
        uint32_t node = b->path[i - 1];

        st = number(b, node, dictionary_node(b->dictionary, node).frame, at, &at);
        if (st == ST_OK)
            st = id_map_set(&b->contexts, node, at);
    }
    if (st == ST_OK)
        *out = at;
    return st;
}

/* A sample whose stack is not there is a sample all the same. */
static enum status number_unknown(struct builder *b, uint32_t *out)
{
    enum status st = ST_OK;

    if (b->unknown == STACKS_NONE)
        st = number(b, CHUNK_NO_PARENT, CHUNK_NO_PARENT, STACKS_NONE, &b->unknown);
    if (st == ST_OK)
        *out = b->unknown;
    return st;
}

enum status stacks_build(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                         struct stacks *out)
{
    struct builder b = {.symbolizer = s,
                        .dictionary = d,
                        .node_count = dictionary_node_count(d),
                        .unknown = STACKS_NONE};
    struct stacks *k = &b.stacks;
    enum status st = ST_OK;

    k->of_cell = malloc(((size_t)p->cell_count + 1) * sizeof(*k->of_cell));
    if (k->of_cell == NULL)
        st = ST_NOMEM;
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++) {
        uint32_t leaf = p->cells[i].leaf;

        if (leaf < b.node_count)
            st = number_path(&b, leaf, &k->of_cell[i]);
        else
            st = number_unknown(&b, &k->of_cell[i]);
    }
    id_map_deinit(&b.contexts);
    free(b.path);
    if (st == ST_OK)
        *out = b.stacks;
    else
        stacks_deinit(&b.stacks);
    return st;
}

void stacks_deinit(struct stacks *k)
{
    free(k->node);
    free(k->parent);
    free(k->function);
    free(k->of_cell);
    memset(k, 0, sizeof(*k));
}
