/* spans - sets of time intervals: what was wanted, what chunks cover, and what they share.
 * Plain ns of one clock, each interval [from, to). Add in any order, merge once, then ask. */
#ifndef COORDINATOR_QUERY_SPANS_H
#define COORDINATOR_QUERY_SPANS_H

#include <stdint.h>

#include "common/status.h"

struct span {
    uint64_t from, to;
};

struct spans { /* zero-initialised is empty */
    struct span *items; /* after spans_merge: ascending, apart from each other */
    uint32_t count, capacity;
};

enum status spans_add(struct spans *s, uint64_t from, uint64_t to); /* empty ones are left out */
enum status spans_add_all(struct spans *s, const struct spans *more);
void spans_merge(struct spans *s); /* sorts, and joins what overlaps or touches */
void spans_deinit(struct spans *s); /* leaves the empty set */

/* Of merged sets. */
uint64_t spans_length(const struct spans *s);
uint64_t spans_length_within(const struct spans *s, uint64_t from, uint64_t to);
uint64_t spans_common(const struct spans *a, const struct spans *b); /* length of what both have */
enum status spans_intersect(const struct spans *a, const struct spans *b, struct spans *out);

#endif
