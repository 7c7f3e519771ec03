/* sequencer - puts side-band events and samples into the order in which they happened.
 * Both come from one buffer per CPU, each in its own order; a sample must be looked up in the
 * process table as it was at that instant: after the exec before it, before the exec after it. What
 * is added is copied and waits until a run whose watermark has passed it. Loop thread only. */
#ifndef AGENT_SEQUENCER_H
#define AGENT_SEQUENCER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/sideband.h"
#include "agent/sampler/sampler.h"
#include "common/clock.h"
#include "common/status.h"

enum { SEQUENCER_BYTES_MAX = 64 << 20 }; /* eight full ring buffers between two runs */

struct sequencer; /* opaque */

struct sequencer_handler { /* what is passed is lent for the call */
    void (*event)(void *arg, const struct sideband_event *event);
    /* False: not yet. It and all that comes after it wait for the next run. */
    bool (*sample)(void *arg, const struct sample *sample);
    /* A sample that comes after one that was not taken: it will be offered. May be NULL. */
    void (*ahead)(void *arg, const struct sample *sample);
    void *arg;
};

struct sequencer_counters {
    uint64_t events_refused, samples_refused; /* over SEQUENCER_BYTES_MAX, or no memory */
};

enum status sequencer_new(struct sequencer **out);
void sequencer_free(struct sequencer *s); /* NULL is fine */

void sequencer_add_event(struct sequencer *s, const struct sideband_event *event);
void sequencer_add_sample(struct sequencer *s, const struct sample *sample);

/* Hands over everything up to and including `watermark`, oldest first; at one instant events come
 * before samples, and otherwise what was added first comes first. Says up to when all has been
 * handed over: before the watermark when a sample was not taken. */
struct mono sequencer_run(struct sequencer *s, struct mono watermark,
                          const struct sequencer_handler *handler);
struct sequencer_counters sequencer_read_counters(const struct sequencer *s);

#endif
