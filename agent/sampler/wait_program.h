/* wait_program - the eBPF program that tells of waits: loaded, run and read. This file knows libbpf
 * and the layout of its ring. Loop thread only. */
#ifndef AGENT_SAMPLER_WAIT_PROGRAM_H
#define AGENT_SAMPLER_WAIT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sampler/cgroups.h"
#include "agent/sampler/sampler.h"
#include "common/status.h"

struct wait_program; /* opaque */

struct wait_program_options {
    struct sampler_maps maps; /* unwind tables, shared with the sampling program */
    uint32_t ring_bytes;
    uint32_t pid_namespace; /* the agent's, by inode; 0: the first one */
    struct cgroup_scope scope;
    enum sampler_walk walk; /* the one that the kernel takes */
};

struct wait_visitor {
    void (*begin)(void *arg, const struct abi_wait *wait, const struct sample *sample);
    void (*end)(void *arg, const struct abi_wait *wait);
    void *arg;
};

struct wait_program_counters { /* since open */
    uint64_t counts[ABI_WAIT_COUNTERS];
    uint64_t bpf_ns, bpf_runs; /* 0 where the kernel keeps no statistics for us */
    uint64_t map_bytes;
};

/* On failure `why` has the verifier's or the kernel's last words, as sampler_open. */
enum status wait_program_open(const struct wait_program_options *options, struct wait_program **out,
                              char why[SAMPLER_WHY_MAX]);
void wait_program_close(struct wait_program *p); /* NULL is fine */

enum status wait_program_start(struct wait_program *p);
void wait_program_stop(struct wait_program *p); /* what is in the ring stays there */
void wait_program_use_tables(struct wait_program *p, bool on);
void wait_program_drain(struct wait_program *p, const struct wait_visitor *visitor);
void wait_program_read_counters(struct wait_program *p, struct wait_program_counters *out);

#endif
