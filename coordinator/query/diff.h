/* diff - what got more or less expensive between two profiles, in cores and in share of the total.
 * Rows pair by their texts (a function by its name and the file name of its binary), so a rebuilt
 * binary compares. Vanished and new rows are rows like any other; noise is told from change by
 * query/estimate, with the false-discovery rate held over all rows that have enough samples. */
#ifndef COORDINATOR_QUERY_DIFF_H
#define COORDINATOR_QUERY_DIFF_H

#include "coordinator/query/rank.h"

#define DIFF_VERDICT_LIST(X) \
    X(NOISE, "noise")        \
    X(MORE, "more")          \
    X(LESS, "less")          \
    X(NEW, "new")            \
    X(VANISHED, "vanished")  \
    X(TOO_FEW, "not enough data")

enum diff_verdict {
#define X(NAME, text) DIFF_##NAME,
    DIFF_VERDICT_LIST(X)
#undef X
};

enum { DIFF_SAMPLES_MIN = 10 }; /* on both sides together: fewer are not tested */
#define DIFF_FALSE_DISCOVERY_RATE 0.05

struct diff_row {
    char *key[RANK_DIMENSIONS_MAX]; /* owned */
    char *binary; /* of the function, when it is a dimension; else NULL */
    struct estimate a, b; /* self */
    uint64_t a_samples, b_samples;
    double cores_delta, cores_delta_low, cores_delta_high; /* b - a, 95 % */
    double share_delta;
    double p_value; /* 1 where it was not tested */
    enum diff_verdict verdict;
};

struct diff {
    enum rank_by by[RANK_DIMENSIONS_MAX];
    uint32_t by_count;
    struct diff_row *rows; /* what stands out from noise, by size of the change in cores; then the
                              rest, likewise */
    uint32_t row_count, rows_found;
};

const char *diff_verdict_name(enum diff_verdict v);
/* Both profiles are of the view that `s` and `d` belong to. limit 0: all rows. ST_INVALID: `by`. */
enum status diff_profiles(const struct profile *a, const struct profile *b, struct symbolizer *s,
                          const struct dictionary *d, const enum rank_by *by, uint32_t by_count,
                          uint32_t limit, struct diff *out);
void diff_deinit(struct diff *d);

#endif
