/* wait_sampler - where threads wait, as samples: the counterpart of the sampler for time off the
 * CPU. Its program is loaded when it is first started. What a thread waits for is known once it has
 * left a CPU while the sampler ran. Loop thread only. */
#ifndef AGENT_SAMPLER_WAIT_SAMPLER_H
#define AGENT_SAMPLER_WAIT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/sampler/sampler.h"
#include "common/clock.h"
#include "common/status.h"

struct wait_sampler; /* opaque */

struct wait_sampler_counters { /* since open; the last two of what it holds now */
    uint64_t lost_ring; /* samples that no record was written of */
    uint64_t lost_table; /* waits whose samples are not known: one each, at least */
    uint64_t bpf_ns, bpf_runs;
    uint64_t map_bytes;
};

/* `sampler` is borrowed: its maps and its way of walking serve both. `scope_cgroup` as in struct
 * sampler_options. */
enum status wait_sampler_new(const char *scope_cgroup, struct sampler *sampler,
                             struct wait_sampler **out);
void wait_sampler_free(struct wait_sampler *w); /* NULL is fine */

/* `why` says what the kernel lacks: ST_UNSUPPORTED, ST_DENIED ...; ST_BAD_STATE: it runs. */
enum status wait_sampler_start(struct wait_sampler *w, uint64_t period_ns,
                               char why[SAMPLER_WHY_MAX]);
enum status wait_sampler_set_period(struct wait_sampler *w, uint64_t period_ns);
/* Hands over what is in the ring and what is pending up to `now`. */
void wait_sampler_stop(struct wait_sampler *w, struct mono now, sample_visit *visit, void *arg);

/* Hands over the samples of waits that have ended and, each second, of those that go on. Nothing
 * when it does not run. */
void wait_sampler_drain(struct wait_sampler *w, struct mono until, sample_visit *visit, void *arg);
void wait_sampler_use_tables(struct wait_sampler *w, bool on);
void wait_sampler_read_counters(struct wait_sampler *w, struct wait_sampler_counters *out);

#endif
