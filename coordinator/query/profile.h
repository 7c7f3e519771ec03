/* profile - the samples of a window, merged: what every ranking, picture and export is made from.
 * Each sample keeps what later questions group by: its stack (leaf node), its task (host, service,
 * thread), and its replicate (a slice of time on a host) for the intervals. Built once per question
 * on a worker thread; immutable after that. Nothing is pruned here. */
#ifndef COORDINATOR_QUERY_PROFILE_H
#define COORDINATOR_QUERY_PROFILE_H

#include <stdint.h>

#include "common/ledger.h"
#include "common/status.h"
#include "common/walks.h"
#include "coordinator/query/window.h"
#include "coordinator/store/store.h"

/* Time slices of a window, the replicates of the variance: so many equal parts of the time that
 * was observed, but none shorter than a second. */
enum { PROFILE_SLICES = 30 };
#define PROFILE_SLICE_NS_MIN NS_PER_S

#define PROFILE_NONE UINT32_MAX

struct profile_task {
    uint32_t host; /* index in hosts */
    uint32_t service; /* index in services; PROFILE_NONE: neither process nor host has one */
    uint32_t comm, thread; /* string ids of the store's dictionary */
};

struct profile_cell {
    uint32_t leaf; /* node id */
    uint32_t task; /* index in tasks */
    uint32_t replicate; /* index in replicates */
    uint32_t samples;
    double weight_ns;
};

struct profile_replicate { /* by host, then slice */
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
    uint64_t period_min_ns, period_max_ns; /* 0 without chunks */
    struct ledger ledger; /* of the chunks touched, whole chunks */
    struct walks walks; /* likewise */
    int64_t clock_offset_max_ns; /* the largest by size, with its sign */
};

struct profile {
    char **hosts; /* owned, like everything below */
    char **services;
    struct profile_task *tasks;
    struct profile_cell *cells; /* by replicate; a few may share leaf, task and replicate */
    struct profile_replicate *replicates;
    uint32_t host_count, service_count, task_count, cell_count, replicate_count;
    double weight_ns; /* total */
    uint64_t samples;
    /* What cores are measured against, in every view: the wall time within the window in which at
     * least one wanted host was observed. So a window that reaches back before the first sample, a
     * session that is still running and the moment until its first chunk do not thin the rate; how
     * much was not observed is the coverage's to say. */
    double window_ns;
    double inclusion_min; /* below 1: the hosts are a sample of the fleet */
    enum event event;
    struct coverage coverage;
};

/* ST_NOT_FOUND: no such session. An empty window is a profile with no cells, not a failure. `why`
 * names what was wrong. */
enum status profile_collect(struct store_view *v, const struct window *w, struct profile *out,
                            char why[WINDOW_WHY_MAX]);
void profile_deinit(struct profile *p);

#endif
