/* change - is the difference of two estimates more than noise? Pure arithmetic; any thread. */
#ifndef COORDINATOR_QUERY_CHANGE_H
#define COORDINATOR_QUERY_CHANGE_H

#include "coordinator/query/estimate.h"

struct change {
    double cores, cores_low, cores_high; /* b - a, 95 % */
    double p_value; /* of a difference in cores this large if there were none */
};

/* `a` and `b` are one item's estimates on either side, from so many samples. */
struct change change_between(const struct estimate *a, uint64_t a_samples, const struct estimate *b,
                             uint64_t b_samples);

#endif
