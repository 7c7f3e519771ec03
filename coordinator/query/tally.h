/* tally - a profile summed into the rows of its axes, by replicate. */
#ifndef COORDINATOR_QUERY_TALLY_H
#define COORDINATOR_QUERY_TALLY_H

#include <stdint.h>

#include "coordinator/query/axes.h"
#include "coordinator/query/estimate.h"
#include "coordinator/query/stacks.h"

struct row_sum {
    uint64_t samples;
    double weight_ns;
    struct replicate_weight *weights; /* ascending */
    uint32_t weight_count;
};

struct tally { /* zero-initialised is empty */
    struct row_sum *rows; /* by number; rows that the profile does not have are empty */
    uint32_t count;
    struct replicate_weight *weights; /* of all rows, one after the other */
};

/* Numbers the rows of every frame, those of mere callers too. */
enum status tally_number_rows(struct axes *x, const struct profile *p, const struct stacks *k);
/* By the innermost frame. Numbers its rows. */
enum status tally_self(struct axes *x, const struct profile *p, const struct stacks *k,
                       struct tally *out);
/* By any frame, once per stack; only numbered rows for which `kept` is not 0. */
enum status tally_total(struct axes *x, const struct profile *p, const struct stacks *k,
                        const uint8_t *kept, struct tally *out);
const struct row_sum *tally_row(const struct tally *t, uint32_t row); /* empty past the end */
void tally_deinit(struct tally *t);

#endif
