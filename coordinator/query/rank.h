/* rank - which functions (binaries, services, hosts, threads) are hottest.
 * self: the innermost frame is the function; total: the function is anywhere on the stack, counted
 * once per stack however often it recurs. Estimates and intervals are query/estimate's. */
#ifndef COORDINATOR_QUERY_RANK_H
#define COORDINATOR_QUERY_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "coordinator/query/estimate.h"
#include "coordinator/query/naming.h"
#include "coordinator/query/profile.h"
#include "coordinator/query/symbolize.h"

#define RANK_BY_LIST(X)     \
    X(FUNCTION, "function") \
    X(BINARY, "binary")     \
    X(SERVICE, "service")   \
    X(HOST, "host")         \
    X(THREAD, "thread")

enum rank_by {
#define X(NAME, text) RANK_BY_##NAME,
    RANK_BY_LIST(X)
#undef X
        RANK_BYS
};

enum { RANK_DIMENSIONS_MAX = 3 }; /* "service,function" */

struct rank_row {
    char *key[RANK_DIMENSIONS_MAX]; /* owned */
    char *binary; /* of the function, when it is a dimension; else NULL */
    uint64_t self_samples, total_samples;
    struct estimate self, total; /* cores, share, interval */
    uint32_t rank_low, rank_high; /* ranks by self that the intervals cannot exclude, from 1 */
};

struct ranking {
    enum rank_by by[RANK_DIMENSIONS_MAX];
    uint32_t by_count;
    struct rank_row *rows; /* by self, hottest first; then by total; then by name */
    uint32_t row_count; /* at most the limit */
    uint32_t rows_found; /* before the limit: what is folded away, callers without self included */
    double folded_share; /* self share of the rows that were cut */
    struct naming naming; /* of the whole profile */
};

/* "service,function". ST_INVALID: an unknown dimension, one twice, none or too many. */
enum status rank_by_parse(const char *text, enum rank_by by[RANK_DIMENSIONS_MAX],
                          uint32_t *out_count);
const char *rank_by_name(enum rank_by by);

/* limit 0: all rows. */
enum status rank(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                 const enum rank_by *by, uint32_t by_count, uint32_t limit, struct ranking *out);
void ranking_deinit(struct ranking *r);

#endif
