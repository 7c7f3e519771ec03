/* estimate - the one place where sums of weights become cores, shares and intervals.
 * Sampling errors are correlated within a host and a stretch of time, so the variance comes between
 * replicates (slices of time within hosts; whole hosts where only a part of them was sampled):
 * linearised residuals of a ratio estimator, and a t quantile with Satterthwaite's degrees of
 * freedom. The limits are Wilson's, at the effective number of samples that the variance stands
 * for, so that they stay inside the possible and are honest for tiny counts. Any thread. */
#ifndef COORDINATOR_QUERY_ESTIMATE_H
#define COORDINATOR_QUERY_ESTIMATE_H

#include <stdint.h>

#include "coordinator/query/profile.h"

/* With fewer samples than this of an item, or of everything else, its replicates say too little
 * about its variance, which is then at least that of independent samples. */
enum { ESTIMATE_SAMPLES_FEW = 10 };
/* Of an item that was not seen: so many samples of it could have been missed (Wilson, 95 %). */
#define ESTIMATE_UNSEEN_EVENTS 3.8415

struct estimate {
    double weight_ns;
    double cores, cores_low, cores_high; /* 95 % interval */
    double share, share_low, share_high; /* of the profile's total weight: 0..1 */
    double share_variance, cores_variance; /* of the estimates; for diffs */
    double cores_degrees; /* of freedom of cores_variance; for diffs */
    double design_effect; /* variance of the share over that of as many independent samples */
    uint32_t replicates; /* that the interval rests on; below 2: on the count alone */
};

/* An item's weight in one replicate; replicates where it has none are left out. */
struct replicate_weight {
    uint32_t replicate;
    double weight_ns;
};

struct estimator; /* opaque: what all items of a profile share. Immutable. */

/* Takes what it needs from `p`, which may go before it. */
enum status estimator_new(const struct profile *p, struct estimator **out);
void estimator_free(struct estimator *e); /* NULL is fine */

/* `weights` ascend by replicate, each at most once; `samples` is the item's count. */
struct estimate estimate_item(const struct estimator *e, const struct replicate_weight *weights,
                              uint32_t count, uint64_t samples);

/* Benjamini-Hochberg: sets keep[i] for those p values that stand at false-discovery rate q. */
void estimate_discoveries(const double *p_values, uint32_t count, double q, uint8_t *keep);

#endif
