/* naming - how many of a profile's frames have names: the one place that says so. Each frame counts
 * once for every sample whose stack it is on; marks such as "[truncated]" are no frames, and
 * inlined functions are part of the frame that they are in. */
#ifndef COORDINATOR_QUERY_NAMING_H
#define COORDINATOR_QUERY_NAMING_H

#include "coordinator/query/profile.h"
#include "coordinator/query/stacks.h"
#include "coordinator/query/symbolize.h"

struct naming { /* frames times samples */
    uint64_t frames;
    uint64_t named; /* not shown as binary+0xoffset */
};

/* `k` is the profile's, by the functions of `s`. ST_NOMEM. */
enum status naming_measure(const struct profile *p, const struct stacks *k,
                           const struct symbolizer *s, struct naming *out);
double naming_share(const struct naming *n); /* 0..1; of no frames: 1 */

#endif
