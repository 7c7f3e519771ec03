/* sampler - stacks of whatever is on a CPU, once a period, by an eBPF program.
 * One software cpu-clock event per online CPU, in period mode. Hardware cycles are not used: their
 * period counts cycles, whose length changes with the frequency, and every sample must stand for
 * the same ns of CPU time. Records wait in a ring buffer until sampler_drain. Loop thread only; the
 * caller passes no time: samples carry the kernel's CLOCK_MONOTONIC. */
#ifndef AGENT_SAMPLER_SAMPLER_H
#define AGENT_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sampler/sample.h"
#include "bpf/abi.h"
#include "common/clock.h"
#include "common/status.h"

enum {
    SAMPLER_WHY_MAX = 512,
    /* By default, for each CPU that there may be: 2000 records of 500 B, 20 s of a busy CPU at 99
     * Hz and 0.4 s at 5000 Hz. It is mapped twice, so it counts twice in the resident size. */
    SAMPLER_RING_BYTES_PER_CPU = 1 << 20,
    SAMPLER_RING_BYTES_MIN = 2 << 20, /* of the default */
    SAMPLER_RING_BYTES_MAX = 1 << 30,
    SAMPLER_PERIOD_NS_MIN = 10 * 1000, /* the kernel would silently clamp to it */
};
#define SAMPLER_PERIOD_NS_MAX (60 * NS_PER_S) /* longer ones measure nothing */

struct sampler; /* opaque */

/* How user stacks are walked in the kernel, best first. The first two know unwind tables. */
enum sampler_walk {
    SAMPLER_WALK_FAST,
    SAMPLER_WALK_COMPAT, /* for kernels before 5.17 */
    SAMPLER_WALK_PLAIN, /* over frame pointers alone */
};

struct sampler_options {
    const char *scope_cgroup; /* a cgroup v2 directory; NULL: the whole host */
    uint32_t ring_bytes; /* power of two, multiple of the page size; 0: the default */
    enum sampler_walk walk; /* the best one to try; where the kernel refuses it, the next */
};

/* The maps that unwind tables go to, as bpf/abi.h lays out; open until sampler_close. */
struct sampler_maps {
    int processes; /* hash: struct abi_page_key -> struct abi_page */
    int shards; /* array of maps: a shard's number -> array of one struct abi_shard */
};

struct sampler_counters { /* since sampler_open; take differences */
    uint64_t counts[ABI_COUNTERS];
    uint64_t kernel_missed; /* the kernel's own count of skipped program runs */
    uint64_t clock_ns; /* time that the sampling clocks ran, summed over CPUs: for a cgroup
                          scope the CPU time of the cgroup; else wall time x CPUs */
    uint64_t bpf_ns, bpf_runs; /* by the program's own clock: a tenth below what the kernel's
                                  statistics would say, which time the way into it as well */
    uint64_t map_bytes; /* kernel memory: maps and ring; shards are their makers' */
    uint32_t verified_instructions; /* of the sampling program, at load; 0: unknown */
    uint32_t cpus; /* with a running clock; of a stopped sampler: that had one */
};

/* Loads the program; nothing runs yet. On failure `why` has the verifier's or the kernel's last
 * words and, where we know it, what to do. ST_DENIED, ST_UNSUPPORTED, ST_INVALID (options),
 * ST_NOMEM. */
enum status sampler_open(const struct sampler_options *options, struct sampler **out,
                         char why[SAMPLER_WHY_MAX]);
void sampler_close(struct sampler *s); /* stops first; NULL is fine */

/* ST_BAD_STATE: running, or for a new period not running; ST_INVALID: period out of range. */
enum status sampler_start(struct sampler *s, uint64_t period_ns);
enum status sampler_set_period(struct sampler *s, uint64_t period_ns); /* live, no gap */
void sampler_stop(struct sampler *s); /* what is in the ring stays there for sampler_drain */

/* Follows CPUs that came or went since the last call; cheap when none did. */
enum status sampler_follow_cpus(struct sampler *s);

/* Calls `visit` for each record in the ring, oldest first within a CPU. */
void sampler_drain(struct sampler *s, void (*visit)(void *arg, const struct sample *sample),
                   void *arg);
void sampler_read_counters(struct sampler *s, struct sampler_counters *out);

/* Tables are not asked while off, and then no process is unknown: it is on frame pointers alone.
 * Off at first. */
void sampler_use_tables(struct sampler *s, bool on);
struct sampler_maps sampler_maps(const struct sampler *s);
/* The one in which samples name processes, by inode; 0: the first one. */
uint32_t sampler_pid_namespace(const struct sampler *s);
uint32_t sampler_ring_bytes(const struct sampler *s);
enum sampler_walk sampler_walk(const struct sampler *s); /* the one that runs */
const char *sampler_degraded(const struct sampler *s); /* what cannot be done and why; "" */
const char *sampler_clock_name(const struct sampler *s); /* "cpu-clock" */

#endif
