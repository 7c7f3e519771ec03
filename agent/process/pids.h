/* pids - which processes there are, by /proc or by the cgroups below a directory. */
#ifndef AGENT_PROCESS_PIDS_H
#define AGENT_PROCESS_PIDS_H

#include <stdint.h>

#include "common/status.h"

enum { PIDS_DEPTH_MAX = 64 }; /* of cgroups in each other */

enum pids_view { /* what /proc shows */
                 PIDS_HOST, /* every process of the host */
                 PIDS_NAMESPACE, /* those of this process's own pid namespace and below */
                 PIDS_FOREIGN, /* another namespace's: its numbers are not ours */
};

enum pids_view pids_view(void);

/* Calls `visit` for each process, until it fails. */
enum status pids_each(enum status (*visit)(void *arg, uint32_t pid), void *arg);

/* The same for those in `directory`, of cgroup v2, and in all cgroups below it: by their
 * cgroup.procs files, so that it does not matter where the hierarchy is mounted. */
enum status pids_each_below(const char *directory, enum status (*visit)(void *arg, uint32_t pid),
                            void *arg);

#endif
