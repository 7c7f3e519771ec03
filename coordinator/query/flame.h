/* flame - the merged call tree by function, in columns ready for drawing; with two profiles both
 * sides are kept, vanished paths too. */
#ifndef COORDINATOR_QUERY_FLAME_H
#define COORDINATOR_QUERY_FLAME_H

#include "coordinator/query/profile.h"
#include "coordinator/query/symbolize.h"

struct flame { /* node 0 is the root; parents before children; siblings by name */
    uint32_t node_count;
    uint32_t *parent; /* of node i; 0 for the root itself */
    uint32_t *function; /* index for symbolizer_get; UINT32_MAX for the root */
    double *self_a, *total_a; /* ns */
    double *self_b, *total_b; /* NULL without a second profile */
};

enum status flame_build(const struct profile *a, const struct profile *b /* or NULL */,
                        struct symbolizer *s, const struct dictionary *d, struct flame *out);
void flame_deinit(struct flame *f);

#endif
