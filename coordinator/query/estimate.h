/* estimate - the one place where sums of weights become cores, shares and intervals.
 * Sampling errors are correlated within a host and a stretch of time, so the variance comes between
 * replicates (time slices within hosts): a ratio estimator with linearised residuals and a t
 * quantile; for tiny counts the lower bound is Wilson's. Pure arithmetic; any thread. */
#ifndef COORDINATOR_QUERY_ESTIMATE_H
#define COORDINATOR_QUERY_ESTIMATE_H

#include <stdint.h>

#include "coordinator/query/profile.h"

struct estimate {
    double weight_ns;
    double cores, cores_low, cores_high; /* 95 % interval */
    double share, share_low, share_high; /* of the profile's total weight: 0..1 */
    double share_variance, cores_variance; /* of the estimates; for diffs */
    uint32_t replicates; /* that the interval rests on */
};

/* `cell` has the item's weight in each replicate (p->replicate_count of them), `total` the whole
 * profile's. `samples` is the item's count. */
struct estimate estimate_item(const struct profile *p, const double *cell, const double *total,
                              uint64_t samples);
/* Sum of weights by replicate: the `total` of estimate_item. `out` has p->replicate_count places.
 */
void estimate_totals(const struct profile *p, double *out);

/* Two-sided p value that a difference is noise, from its value, its variance and degrees of
 * freedom. */
double estimate_p_value(double difference, double variance, double degrees);
/* Benjamini-Hochberg: sets keep[i] for those p values that stand at false-discovery rate q. */
void estimate_discoveries(const double *p_values, uint32_t count, double q, uint8_t *keep);

#endif
