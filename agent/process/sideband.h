/* sideband - the kernel's running commentary on processes: perf's fork, exec, exit, comm and mmap
 * records, read from one buffer per CPU. Loop thread only. */
#ifndef AGENT_PROCESS_SIDEBAND_H
#define AGENT_PROCESS_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/id.h"
#include "common/status.h"

enum { SIDEBAND_PATH_MAX = 4096, SIDEBAND_COMM_MAX = 16 };

enum sideband_kind { SIDEBAND_FORK, SIDEBAND_EXEC, SIDEBAND_COMM, SIDEBAND_EXIT, SIDEBAND_MMAP };

struct sideband_event { /* `path` is lent for the call */
    enum sideband_kind kind;
    struct mono time;
    uint32_t pid, tid;
    uint32_t parent_pid; /* FORK */
    char comm[SIDEBAND_COMM_MAX]; /* EXEC, COMM */
    uint64_t start, length, file_offset; /* MMAP, executable ones only */
    struct build_id build_id; /* MMAP; length 0: the kernel could not say */
    const char *path; /* MMAP: as the process sees it */
};

struct sideband; /* opaque */

struct sideband_counters {
    uint64_t events, lost; /* lost: the kernel's own count, and records that made no sense */
    uint64_t map_bytes;
};

enum status sideband_open(struct sideband **out);
void sideband_close(struct sideband *s);
/* Each CPU's events oldest first; order across CPUs is by `time`, which the caller sorts out. */
void sideband_drain(struct sideband *s,
                    void (*visit)(void *arg, const struct sideband_event *event), void *arg);
/* Follows CPUs that came or went; call it right after a drain, since what is left in the buffer of
 * a CPU that went is dropped. Cheap when none did. */
enum status sideband_follow_cpus(struct sideband *s);
struct sideband_counters sideband_read_counters(const struct sideband *s);

#endif
