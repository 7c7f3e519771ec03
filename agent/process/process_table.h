/* process_table - what process's own files share: the table itself.
 * Include only from agent/process/process*.c. */
#ifndef AGENT_PROCESS_PROCESS_TABLE_H
#define AGENT_PROCESS_PROCESS_TABLE_H

#include "agent/process/binaries.h"
#include "agent/process/cgroups.h"
#include "agent/process/disclosure.h"
#include "agent/process/process.h"
#include "agent/process/roster.h"

struct processes {
    struct roster roster;
    struct binaries *binaries;
    struct mono now; /* the latest event */
    uint64_t tick_ns; /* what /proc counts start times in */
    uint64_t boot_offset_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC: the time spent suspended */
    uint64_t serial, code_version; /* the last ones given */
    uint32_t scan;
    uint64_t mappings_refused;
    struct disclosure disclosure;
    struct cgroups cgroups;
    struct jit_pool jit_pool;
    uint64_t jit_bytes_max;
};

uint64_t process_boot_offset(void);
uint64_t process_start_at(const struct processes *t, struct mono when); /* as /proc would give it */
bool process_same_start(uint64_t a, uint64_t b); /* of one pid */

/* Whoever knows the process by its serial has to ask again. */
void process_renew_serial(struct processes *t, struct member *m);

void process_renew_code(struct processes *t, struct member *m); /* its mappings have changed */

/* Reads a pid that is not in the table. ST_NOT_FOUND: gone; ST_NOMEM. */
enum status process_load(struct processes *t, uint32_t pid, struct member **out);

/* Drops binaries that no process has mapped, once there are many. Not while any is in hand. */
void process_sweep_binaries(struct processes *t);

/* ---- labels ---- */

void process_set_comm(struct member *m, const char comm[SIDEBAND_COMM_MAX]);
void process_note_cgroup(struct processes *t, struct member *m, struct cgroup_ids ids);

/* ---- JIT code ---- */

void process_follow_jit(struct processes *t, struct member *m); /* when it has been asked for */
void process_drop_jit(struct member *m); /* it has become another program */
void process_inherit_jit(struct processes *t, struct member *child, const struct member *parent);
/* Whether code mapped without a file is CPython's trampolines, as far as its names are known. */
bool process_maps_trampolines(const struct member *m, const struct mapping *mapping);

#endif
