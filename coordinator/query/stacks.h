/* stacks - the calling contexts of a profile, each once, with the function of every frame. */
#ifndef COORDINATOR_QUERY_STACKS_H
#define COORDINATOR_QUERY_STACKS_H

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

enum status stacks_build(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                         struct stacks *out);
void stacks_deinit(struct stacks *k);

#endif
