/* waits - from the beginnings and ends of threads' waits to samples of the time that they take.
 * Time off the CPU is sampled as time on it is: each thread that waits has a clock of its own, with
 * a random phase, that ticks once a period, and each tick is a sample that stands for one period.
 * So a wait longer than the period is never missed, a short one is seen with probability length /
 * period, and the sum of both is right. Where only a share of the stacks was taken, the clocks of
 * those that were tick as much faster. Long waits give samples while they last. Kinds: what a
 * thread waits for first, and from its wake-up on that it waits to run, which is told at the end.
 * Pure: time and chance are passed in. Loop thread only. */
#ifndef AGENT_SAMPLER_WAITS_H
#define AGENT_SAMPLER_WAITS_H

#include "agent/sampler/sample.h"
#include "common/status.h"

enum {
    WAITS_MAX = 1 << 16, /* pending at once: threads of a host */
    WAITS_BYTES_MAX = 32 << 20, /* of their stacks: 500 bytes each, as a rule */
};

struct waits; /* opaque */

struct waits_counters {
    uint64_t refused; /* beginnings over a limit: not one of their samples is known */
    uint64_t unended; /* whose end was never told: the thread waits anew */
    uint32_t pending;
};

enum status waits_new(uint64_t seed, struct waits **out);
void waits_free(struct waits *w); /* NULL is fine */

/* From `now` on: waits that are pending go on at the new rate. */
void waits_set_period(struct waits *w, uint64_t period_ns);

/* A wait of thread `wait->tid` begins; the sample is copied. One that was pending for that thread
 * has ended unseen. ST_FULL, ST_NOMEM: refused, and counted. */
enum status waits_begin(struct waits *w, const struct abi_wait *wait, const struct sample *sample);
/* Hands over the rest of its samples. What never began here is ignored. */
void waits_end(struct waits *w, const struct abi_wait *wait, sample_visit *visit, void *arg);
/* Hands over the samples up to `until` of all that are pending. Times passed never go back. */
void waits_settle(struct waits *w, struct mono until, sample_visit *visit, void *arg);
void waits_forget(struct waits *w); /* all that are pending */

struct waits_counters waits_read_counters(const struct waits *w);

#endif
