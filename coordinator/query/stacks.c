/* stacks - each leaf is followed outwards until a context is known, then the path back is numbered.
 */
#include "coordinator/query/stacks.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"

struct path { /* from a leaf outwards, as dictionary nodes */
    uint32_t *nodes;
    uint32_t count, capacity;
};

/* Fills the path with what is not yet numbered; *out is the number that it hangs from. */
static enum status follow(const struct stacks *k, const struct dictionary *d, uint32_t node,
                          struct path *path, uint32_t *out)
{
    path->count = 0;
    while (node != CHUNK_NO_PARENT) {
        uint32_t known = keys_find(&k->nodes, (struct key){.low = node});
        uint32_t parent = dictionary_node(d, node).parent;

        if (known != KEYS_NONE) {
            *out = known;
            return ST_OK;
        }
        if (array_reserve(&path->nodes, &path->capacity, path->count, sizeof(*path->nodes)) !=
            ST_OK)
            return ST_NOMEM;
        path->nodes[path->count++] = node;
        node = parent < node ? parent : CHUNK_NO_PARENT; /* never in circles, whatever is stored */
    }
    *out = STACKS_NONE;
    return ST_OK;
}

static enum status number(struct stacks *k, struct symbolizer *s, uint32_t frame, uint32_t node,
                          uint32_t parent, uint32_t *out)
{
    enum status st = array_reserve(&k->parent, &k->parent_capacity, k->count, sizeof(*k->parent));

    if (st == ST_OK)
        st = array_reserve(&k->function, &k->function_capacity, k->count, sizeof(*k->function));
    if (st == ST_OK)
        st = symbolizer_function(s, frame, &k->function[k->count]);
    if (st == ST_OK)
        st = keys_put(&k->nodes, (struct key){.low = node}, out);
    if (st == ST_OK)
        k->parent[k->count++] = parent;
    return st;
}

static enum status add_leaf(struct stacks *k, struct symbolizer *s, const struct dictionary *d,
                            uint32_t leaf, struct path *path, uint32_t *out)
{
    uint32_t at;
    enum status st = follow(k, d, leaf, path, &at);

    for (uint32_t i = path->count; i > 0 && st == ST_OK; i--) {
        uint32_t node = path->nodes[i - 1];

        st = number(k, s, dictionary_node(d, node).frame, node, at, &at);
    }
    if (st == ST_OK && at == STACKS_NONE) /* a sample without a stack is a sample all the same */
        st = number(k, s, CHUNK_NO_PARENT, leaf, STACKS_NONE, &at);
    if (st == ST_OK)
        *out = at;
    return st;
}

enum status stacks_build(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                         struct stacks *out)
{
    struct stacks k = {.of_cell = malloc(((size_t)p->cell_count + 1) * sizeof(*k.of_cell))};
    struct path path = {0};
    enum status st = k.of_cell == NULL ? ST_NOMEM : ST_OK;

    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        st = add_leaf(&k, s, d, p->cells[i].leaf, &path, &k.of_cell[i]);
    free(path.nodes);
    if (st == ST_OK)
        *out = k;
    else
        stacks_deinit(&k);
    return st;
}

void stacks_deinit(struct stacks *k)
{
    keys_deinit(&k->nodes);
    free(k->parent);
    free(k->function);
    free(k->of_cell);
    memset(k, 0, sizeof(*k));
}
