/* procfs - the texts of /proc/PID, parsed. Pure functions over a buffer: names in them are chosen
 * by the processes themselves, so nothing is believed. */
#ifndef AGENT_PROCESS_PROCFS_H
#define AGENT_PROCESS_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire.h"

enum {
    PROCFS_COMM_MAX = 16, /* TASK_COMM_LEN */
    PROCFS_PATH_MAX = 4096, /* PATH_MAX */
};

struct procfs_stat { /* value */
    char comm[PROCFS_COMM_MAX];
    char state; /* 'R', 'S', ... 'Z': a leader that waits to be reaped, or for its threads */
    uint32_t threads;
    uint64_t start_ticks; /* since boot; sysconf(_SC_CLK_TCK) a second */
};

struct procfs_mapping {
    uint64_t start, end, file_offset, inode;
    bool executable;
    struct slice path; /* lent from the text; empty: anonymous */
};

struct procfs_status { /* value */
    uint32_t uid; /* the effective one */
    uint32_t ns_pid; /* the process's pid as it sees it itself */
};

/* /proc/PID/stat. */
bool procfs_parse_stat(struct slice text, struct procfs_stat *out);

/* /proc/PID/status. */
bool procfs_parse_status(struct slice text, struct procfs_status *out);

/* /proc/PID/maps: takes the next line that makes sense off `text`; false: none is left. */
bool procfs_next_mapping(struct slice *text, struct procfs_mapping *out);

/* /proc/PID/cgroup: the path that says most about the process. On machines with cgroup v1, v2 or
 * both, most hierarchies may show "/": one with a container in it wins, then any but the root, then
 * v2 over v1. Lent from the text; empty: there is none. */
struct slice procfs_cgroup_path(struct slice text);

#endif
