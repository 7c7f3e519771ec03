/* slices - a window cut into equal parts of the time that was observed, and chunks cut by them.
 * Slices are the replicates of the variance; see query/profile.h for how many there are. */
#ifndef COORDINATOR_QUERY_SLICES_H
#define COORDINATOR_QUERY_SLICES_H

#include "common/clock.h"
#include "coordinator/query/profile.h"
#include "coordinator/query/spans.h"

struct slices { /* slice i is [bounds[i], bounds[i + 1]) */
    uint64_t bounds[PROFILE_SLICES + 1]; /* ns since 1970, the window's ends included */
    uint32_t count; /* at least 1 */
};

void slices_make(const struct spans *observed, struct wall from, struct wall to,
                 struct slices *out);

struct piece { /* of a chunk: ticks [from, to) belong to the window, and to this slice */
    uint32_t from, to;
    uint32_t slice;
};

struct pieces { /* ascending */
    struct piece *items;
    uint32_t count, capacity;
};

/* Replaces what `out` has by the pieces of [start, end) that `accepted` holds. ST_NOMEM. */
enum status slices_cut(const struct slices *s, const struct spans *accepted, struct wall start,
                       struct wall end, struct pieces *out);
void pieces_deinit(struct pieces *p);

#endif
