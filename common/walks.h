/* walks - how many samples' walks ended in which way (walk.h).
 * Counts of ends that only newer agents know keep their numbers: they stay in the sum, and a later
 * build has names for them. Values only. */
#ifndef COMMON_WALKS_H
#define COMMON_WALKS_H

#include <stdint.h>

#include "common/walk.h"

enum { WALKS_MAX = 32 }; /* numbers that ends may ever have: 9 are taken */
_Static_assert((int)WALK_ENDS <= (int)WALKS_MAX, "every end is counted");

struct walks {
    uint64_t count[WALKS_MAX]; /* by enum walk_end */
};

const char *walk_name(enum walk_end end); /* "unknown" for numbers that are none */

void walks_add(struct walks *to, const struct walks *from);
uint64_t walks_sum(const struct walks *w); /* of samples whose end was told; older agents did not */
uint64_t walks_user(const struct walks *w); /* the same without kernel threads: what had a stack */
uint64_t walks_other(const struct walks *w); /* ends that this build has no name for */
/* Of the walks of user stacks, those that reached the outermost frame: 0 to 1; -1: none is known.
 */
double walks_root_share(const struct walks *w);

#endif
