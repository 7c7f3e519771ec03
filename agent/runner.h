/* runner - does what the plan wants: starts and stops the source, changes its rate, cuts chunks
 * into the spool, ends each item at its deadline, and reports each step. Loop thread; times are
 * passed in. */
#ifndef AGENT_RUNNER_H
#define AGENT_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/plan.h"
#include "agent/source.h"
#include "agent/spool.h"
#include "common/message.h"

enum {
    RUNNER_REPORTS_MAX = 64 /* remembered for a coordinator that was away; the oldest go first */
};

struct runner; /* opaque */

struct runner_options {
    struct source *source; /* borrowed */
    struct spool *spool; /* borrowed */
    uint64_t incarnation;
    void (*report)(void *arg, const struct profiler_report *r);
    void *arg;
};

struct moment { /* what the owner knows of now */
    struct mono mono;
    struct wall wall;
    struct wall steady; /* the wall clock of the agent's start and the time since: it never steps */
    int64_t clock_offset_ns;
    uint64_t bytes_sent; /* by the link, since the agent's start */
};

enum status runner_new(const struct runner_options *options, struct runner **out);
void runner_free(struct runner *r); /* NULL is fine. Samples not yet cut are gone: runner_finish */

/* As plan_accept; then does it. */
enum status runner_apply(struct runner *r, const struct plan *p, const struct moment *now);
uint64_t runner_revision(const struct runner *r);

/* Drains the source, cuts what is due, ends what has passed its deadline. About each 100 ms. */
void runner_tick(struct runner *r, const struct moment *now);
/* Ends everything with its final chunk: before the agent stops. */
void runner_finish(struct runner *r, const struct moment *now, const char *reason);

bool runner_is_active(const struct runner *r);
uint32_t runner_running(const struct runner *r, struct id128 out[MESSAGE_PROFILERS_MAX]);
void runner_repeat_reports(const struct runner *r); /* the last word on each profiler */
struct agent_cost runner_cost(struct runner *r); /* since the agent's start, but for bytes_sent */

#endif
