/* profile - the samples of a window, merged: what every ranking, picture and export is made from.
 * Each sample keeps what later questions group by: its stack (leaf node), its task (host, service,
 * thread), and its replicate (a slice of time on a host) for the intervals. Built once per question
 * on a worker thread; immutable after that. Nothing is pruned here. */
#ifndef COORDINATOR_QUERY_PROFILE_H
#define COORDINATOR_QUERY_PROFILE_H

#include <stdint.h>

#include "common/ledger.h"
#include "common/status.h"
#include "coordinator/query/window.h"
#include "coordinator/store/store.h"

enum {
    PROFILE_SLICES =
        30, /* time slices of a window: replicates of the variance, at least 1 s each */
};

struct profile_task {
    uint32_t host; /* index in hosts */
    uint32_t service; /* string ids of the store's dictionary; CHUNK_NO_PARENT: none */
    uint32_t comm, thread;
};

struct profile_cell {
    uint32_t leaf; /* node id */
    uint32_t task; /* index in tasks */
    uint32_t replicate; /* index in replicates */
    uint32_t samples;
    double weight_ns;
};

struct profile_replicate {
    uint32_t host, slice;
    double covered_ns; /* wall time of the slice that chunks of that host cover */
};

/* How far the answer can be trusted: goes with every answer. */
struct coverage {
    struct wall from, to; /* the window asked for, resolved */
    uint32_t hosts_wanted; /* matched; hosts without any chunk are in wanted, not in covered */
    uint32_t hosts_covered;
    double covered_share; /* covered host-time over wanted host-time: 0..1 */
    uint64_t chunks, samples;
    uint64_t period_min_ns, period_max_ns;
    struct ledger ledger; /* of the chunks touched, whole chunks */
    int64_t clock_offset_max_ns;
};

struct profile {
    char **hosts;
    struct profile_task *tasks;
    struct profile_cell *cells;
    struct profile_replicate *replicates;
    uint32_t host_count, task_count, cell_count, replicate_count;
    double weight_ns; /* total */
    uint64_t samples;
    double window_ns; /* length of the window in wall time */
    enum event event;
    struct coverage coverage;
};

/* ST_NOT_FOUND: no such session. An empty window is a profile with no cells, not a failure. `why`
 * names what was wrong. */
enum status profile_collect(struct store_view *v, const struct window *w, struct profile *out,
                            char why[WINDOW_WHY_MAX]);
void profile_deinit(struct profile *p);

#endif
