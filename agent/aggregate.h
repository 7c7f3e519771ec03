/* aggregate - samples in, one chunk out.
 * Interns strings, binaries, frames, stacks, processes and threads of one window into the tables of
 * a struct chunk. Knows nothing of BPF or /proc: frames come resolved. A simulated agent uses the
 * same code. Not thread safe; no clock, no I/O. */
#ifndef AGENT_AGGREGATE_H
#define AGENT_AGGREGATE_H

#include <stdint.h>

#include "common/chunk.h"
#include "common/labels.h"
#include "common/status.h"

struct aggregate; /* opaque */

struct resolved_frame { /* texts and ids are copied */
    enum frame_kind kind;
    const struct build_id *binary; /* NATIVE, KERNEL */
    const char *path; /* NATIVE, KERNEL: the binary's */
    const char *name; /* NAMED, MARK */
    uint64_t offset;
};

struct resolved_sample {
    enum event event;
    struct mono time;
    uint32_t repeats; /* further samples like it ... */
    uint64_t step_ns; /* ... each this much later than the one before */
    uint32_t pid, tid;
    uint64_t process_serial; /* tells processes with the same pid apart */
    uint64_t process_start_ns;
    const char *comm, *thread_name;
    const struct labels *labels; /* of the process */
    const struct resolved_frame *frames; /* outermost first */
    uint32_t frame_count;
    enum walk_end end; /* of the user part */
};

enum status aggregate_new(struct aggregate **out);
void aggregate_free(struct aggregate *a);
/* ST_FULL: a table of the chunk is at its limit; the sample and its repeats that found no room are
 * counted in aggregate_refused. */
enum status aggregate_add(struct aggregate *a, const struct resolved_sample *sample);
uint64_t aggregate_samples(const struct aggregate *a);
uint64_t aggregate_refused(const struct aggregate *a);

struct walks aggregate_walks(const struct aggregate *a); /* of the samples in the window */

/* Hands the window over: fills out->dictionary and out->samples (ticks relative to `start`; samples
 * outside the window are moved to its nearest edge) and starts empty. The caller fills out->info.
 */
enum status aggregate_take(struct aggregate *a, struct mono start, struct mono end,
                           struct chunk *out);

#endif
