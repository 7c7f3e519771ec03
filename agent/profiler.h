/* profiler - one run of one event: numbers its chunks, keeps their windows, periods and ledger.
 * A chunk ends when its window is full, when the period changes, and when the profiler ends; the
 * last one is marked final. No clock, no I/O, no BPF: what the sampler counted is passed in, so a
 * simulated agent uses the same code. */
#ifndef AGENT_PROFILER_H
#define AGENT_PROFILER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/aggregate.h"
#include "common/chunk.h"
#include "common/message.h"
#include "common/status.h"

struct profiler; /* opaque */

/* What the source of samples has counted since it was opened. */
struct sample_counters {
    uint64_t clock_ns; /* time that the sampling clocks ran, summed over CPUs */
    uint64_t lost[LOSS_KINDS];
    uint64_t skipped;
    uint32_t cpus;
};

struct profiler_now { /* the state of the world at a start or a cut */
    struct mono mono;
    struct wall wall;
    int64_t clock_offset_ns;
    struct sample_counters counters;
    struct agent_cost cost; /* of the agent since its start */
};

struct profiler_options {
    struct plan_item item;
    uint64_t incarnation;
    bool whole_host; /* else the scope is a cgroup, whose clocks run only with it: no idle time */
};

enum status profiler_new(const struct profiler_options *options, const struct profiler_now *now,
                         struct profiler **out);
void profiler_free(struct profiler *p); /* NULL is fine */

struct id128 profiler_id(const struct profiler *p);
enum event profiler_event(const struct profiler *p);
uint64_t profiler_period_ns(const struct profiler *p);
uint64_t profiler_sequence(const struct profiler *p); /* of the last chunk cut; 0: none yet */
uint64_t
profiler_samples(const struct profiler *p); /* delivered in all chunks and the open window */

/* A table of the chunk that is full costs the sample, counted as LOSS_TABLE. */
void profiler_add(struct profiler *p, const struct resolved_sample *sample);

/* The window is full at `now`: cut. */
bool profiler_is_due(const struct profiler *p, struct mono now);

/* Ends the window at now->mono and begins the next there. `out` owns the packed chunk;
 * `out_samples` is what it holds. On failure the window's samples are gone; they are counted as
 * LOSS_TABLE in the next chunk, which reaches back over the window. A window of no length that is
 * not final gives ST_NOT_FOUND and no chunk. */
enum status profiler_cut(struct profiler *p, const struct profiler_now *now, bool final,
                         struct blob *out, uint32_t *out_samples);

/* Right after a cut, so that a chunk has one period. */
void profiler_set_period(struct profiler *p, uint64_t period_ns);

#endif
