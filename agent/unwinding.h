/* unwinding - brings unwind tables and samples together: publishes each process to the kernel when
 * a sample has first met it, asks for the tables of its code, and walks the copies of stacks that
 * samples bring along until the kernel can. Exists while something is sampled; nothing is built
 * and no memory held otherwise. Loop thread only. */
#ifndef AGENT_UNWINDING_H
#define AGENT_UNWINDING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/process.h"
#include "agent/sampler/sampler.h"
#include "common/clock.h"
#include "common/status.h"

/* A sample waits this long at most for a table that is being built; all after it wait along. On a
 * busy machine the worker gets its share of a CPU only: a large table takes a second. */
#define UNWINDING_HOLD_NS (1 * NS_PER_S)

struct unwinding; /* opaque */

struct unwinding_counters { /* since unwinding_new */
    uint64_t deferred, deferred_to_root; /* copies walked here, and those that came to the end */
    uint64_t held; /* times that a sample was not taken yet */
    uint64_t tables_built, tables_refused, tables_evicted, tables_failed;
    uint64_t build_ns; /* CPU time of the worker */
    uint64_t pages_written;
    uint64_t bytes, rows; /* of the tables, now */
};

/* Both are lent until unwinding_free. */
enum status unwinding_new(struct sampler_maps maps, struct processes *processes,
                          struct unwinding **out);
void unwinding_free(struct unwinding *u); /* takes back what it published; NULL is fine */

/* So many copies came with the samples since the last call that more are to be expected. */
bool unwinding_is_flooded(struct unwinding *u);

/* Before and after samples are taken. The process table knows of all that happened until `seen`. */
void unwinding_run(struct unwinding *u, struct mono now, struct mono seen);

/* The sample with its whole user stack, as far as that can be had; `out` points into `u` and into
 * the sample, until the next call. False: not yet, and offer it again after the next
 * unwinding_run. With `last` it is never too early. */
bool unwinding_take(struct unwinding *u, const struct sample *sample, bool last,
                    struct sample *out);

/* A sample that is on its way: its tables are asked for at once, not one process after the other.
 */
void unwinding_expect(struct unwinding *u, const struct sample *sample);

struct unwinding_counters unwinding_read_counters(const struct unwinding *u);

#endif
