/* process - what runs on the host: processes, their labels and their executable mappings.
 * Filled from /proc once and from the side-band after that; events and look-ups must come in the
 * order of their times (agent/sequencer does that), so that a look-up sees the table as it was when
 * the sample was taken. A process is pid *and* start time; a pid that is used again is a new
 * process. Loop thread only. */
#ifndef AGENT_PROCESS_PROCESS_H
#define AGENT_PROCESS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/sideband.h"
#include "common/clock.h"
#include "common/id.h"
#include "common/labels.h"
#include "common/status.h"

enum {
    PROCESSES_MAX = 1 << 17, /* more: oldest ended or unsampled one goes, counted */
    PROCESSES_JIT_BYTES = 32 << 20, /* 300,000 names; those of idle processes go first */
    PROCESS_MAPPINGS_MAX = 1 << 14, /* executable mappings of one process; more are counted */
};

struct disclosure; /* agent/process/disclosure.h */
struct processes; /* opaque table */

struct binary { /* one file's code, shared by every mapping of it; the table's own, good as long as
                   some process has it mapped */
    struct build_id id; /* GNU build id, else a hash of the content; length 0: unreadable */
    char *path; /* as the first process that mapped it saw it */
    uint32_t index; /* key for callers' own tables: one that is dropped leaves its number unused */
};

struct mapping {
    uint64_t start, end, file_offset;
    const struct binary *binary; /* NULL: anonymous executable memory (JIT) */
    bool trampolines; /* CPython's, by its perf map: anonymous memory with its own unwind rule */
};

struct process { /* until the table next changes */
    uint32_t pid;
    uint64_t start_ns; /* since boot */
    char comm[SIDEBAND_COMM_MAX];
    struct labels labels; /* comm; once a sample told the cgroup: cgroup, unit, container, service,
                             and what may be disclosed: env.NAME, arg.FLAG */
    uint64_t serial; /* unique: changes with each new process and each exec */
};

struct sighting { /* of a process, by a sample */
    struct mono time;
    uint32_t pid;
    uint64_t cgroup, cgroup_v1; /* ids; 0: there is none */
};

struct processes_counters {
    uint64_t evicted, mappings_refused; /* beyond the limits */
    uint64_t unreadable_binaries; /* known by their paths alone */
    uint64_t dropped_binaries; /* not mapped any more, and made room */
    uint32_t processes, binaries;
    uint64_t jit_bytes; /* memory that the names of JIT code take */
};

struct processes_options { /* zero: the defaults */
    uint64_t jit_bytes; /* most memory for names of JIT code; 0: PROCESSES_JIT_BYTES */
    const struct disclosure *disclosure; /* its texts are lent as long as the table lives */
};

enum status processes_new(const struct processes_options *options, struct processes **out);
void processes_free(struct processes *t);

/* Reads all of /proc; for a start, and now and then for what events did not tell. Processes that it
 * does not meet have ended. Events are applied whatever their scope. Only processes below
 * `scope_cgroup` (an absolute cgroup v2 directory) when it is not NULL. */
enum status processes_scan(struct processes *t, const char *scope_cgroup);
void processes_apply(struct processes *t, const struct sideband_event *event);

/* Reads /proc for a pid that the table does not know; NULL: gone before it could be read. */
const struct process *processes_find(struct processes *t, uint32_t pid);
/* Tells of a sample; call before its look-ups. When the process has another cgroup than before, it
 * has moved since its labels were read, and they are read again (which changes its serial). */
void processes_note(struct processes *t, const struct sighting *s);
/* NULL: no executable mapping holds `address`. */
const struct mapping *processes_map(struct processes *t, uint32_t pid, uint64_t address);
/* The last version that processes_code can have given by now. */
uint64_t processes_code_version(const struct processes *t);
/* All executable mappings, by address; *out_version is never 0 and changes with them. NULL: the
 * process is not known, or has ended. Until the table next changes. */
const struct mapping *processes_code(const struct processes *t, uint32_t pid, uint32_t *out_count,
                                     uint64_t *out_version);
/* What the process itself calls its code at `address`, in memory without a file; NULL: nothing is
 * known. Valid until the next call of processes_note. */
const char *processes_name_jit(struct processes *t, uint32_t pid, uint64_t address);

/* An open, read-only descriptor of the binary's file, verified to have that id; the caller closes
 * it. Works for deleted files and other mount namespaces as long as the table kept or can reach the
 * file. ST_NOT_FOUND: no longer to be had. */
enum status processes_open_binary(struct processes *t, const struct build_id *id, int *out_fd);

struct processes_counters processes_read_counters(const struct processes *t);

#endif
