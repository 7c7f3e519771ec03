/* stacks - the calling contexts of a profile, each once, with their functions. Inlined functions
 * are contexts of their own, each called by the one that it was inlined into, so that whoever walks
 * contexts sees them as the frames they stand for. */
#ifndef COORDINATOR_QUERY_STACKS_H
#define COORDINATOR_QUERY_STACKS_H

#include <stdbool.h>

#include "coordinator/query/profile.h"
#include "coordinator/query/symbolize.h"

#define STACKS_NONE UINT32_MAX

struct stacks { /* zero-initialised is empty; contexts have dense numbers, callers before callees */
    uint32_t *node; /* of the dictionary; CHUNK_NO_PARENT: a stack that it does not have */
    uint32_t *parent; /* number; STACKS_NONE: outermost */
    uint32_t *function; /* for symbolizer_get */
    uint32_t count, node_capacity, parent_capacity, function_capacity;
    uint32_t *of_cell; /* the leaf of every cell of the profile */
};

/* Is the context one that was inlined into its parent? Both are then of one node, which no other
 * two contexts of a stack are. */
static inline bool stacks_is_inlined(const struct stacks *k, uint32_t context)
{
    uint32_t parent = k->parent[context];

    return parent != STACKS_NONE && k->node[parent] == k->node[context];
}

enum status stacks_build(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                         struct stacks *out);
void stacks_deinit(struct stacks *k);

#endif
