/* cgroups - what the eBPF programs must be told of the host's control groups. Any thread. */
#ifndef AGENT_SAMPLER_CGROUPS_H
#define AGENT_SAMPLER_CGROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

struct cgroup_scope { /* a v2 directory, as a program finds it among a task's ancestors */
    uint64_t id; /* its inode; 0: no scope */
    uint32_t level; /* its depth: the root's is 0 */
};

/* ST_NOT_FOUND and others of stat(2). */
enum status cgroup_scope_read(const char *directory, struct cgroup_scope *out);

/* Whether the memory controller is on a v1 hierarchy: those have numbers, v2's is 0. */
bool cgroup_memory_is_on_v1(void);

#endif
