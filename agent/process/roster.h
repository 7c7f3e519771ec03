/* roster - the processes by pid, and in two orders: the living by last use, the ended by time.
 * Bounded: a newcomer displaces the one that ended first, else the living one that was not asked
 * for the longest. Knows nothing of events or /proc. Loop thread only. */
#ifndef AGENT_PROCESS_ROSTER_H
#define AGENT_PROCESS_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/cgroups.h"
#include "agent/process/jit.h"
#include "agent/process/mappings.h"
#include "agent/process/process.h"

enum { ROSTER_BUCKETS = 1 << 14 };

struct member {
    struct process process;
    struct mappings mappings;
    uint64_t code_version; /* changes with the mappings */
    uint32_t threads; /* alive, as far as events told */
    uint32_t scan; /* the last one that saw it */
    bool ended;
    struct mono ended_at;
    bool labels_known; /* those of `cgroup`, which a sample told */
    struct cgroup_ids cgroup;
    struct jit *jit; /* NULL: not asked for */
    struct member *next_in_bucket, *before, *after;
};

struct queue { /* of members, oldest first */
    struct member *first, *last;
};

struct roster { /* embedded; zero-initialised is empty */
    struct member *buckets[ROSTER_BUCKETS];
    struct queue living, ended;
    uint32_t count;
    uint64_t displaced;
};

void roster_deinit(struct roster *r);
struct member *roster_find(const struct roster *r, uint32_t pid); /* NULL: not there */
/* An empty one of that pid, alive; the pid must not be there. NULL: out of memory. */
struct member *roster_add(struct roster *r, uint32_t pid);
void roster_remove(struct roster *r, struct member *m);
void roster_touch(struct roster *r, struct member *m); /* it was asked for */
void roster_end(struct roster *r, struct member *m, struct mono when);
void roster_revive(struct roster *r, struct member *m);

#endif
