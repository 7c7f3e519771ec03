/* profilers - the continuous runs that the coordinator has assigned: how far each has come on its
 * host and what of it is stored. Values in a table by id; no I/O, no clock. Loop thread only. */
#ifndef COORDINATOR_CONTROL_PROFILERS_H
#define COORDINATOR_CONTROL_PROFILERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "coordinator/control/control.h"
#include "coordinator/store/records.h"

enum { PROFILER_REASON_MAX = 128 };
#define PROFILER_NO_BATCH UINT64_MAX

/* What can happen to a profiler on its host, in the order in which it usually does. */
enum profiler_step {
    STEP_SENT, /* a plan that holds it has left */
    STEP_ACCEPTED,
    STEP_ATTACHED,
    STEP_SAMPLED,
    STEP_DRAINS,
    STEP_ENDED,
    STEP_REFUSED,
    PROFILER_STEPS
};

struct session;

struct profiler_member { /* a session that has samples of this profiler */
    struct session *session;
    uint32_t index; /* of the member in the session's record */
};

struct profiler {
    struct profiler_record record;
    enum host_state state;
    char reason[PROFILER_REASON_MAX]; /* the host's words for a refusal or an early end */
    uint64_t period_ns; /* as the host last reported */
    uint64_t sent_revision; /* of the first plan that held it; 0: none has left */
    uint64_t batch; /* the journal's batch that made it durable: once that is written it may be
                       sent. 0: read from the store; PROFILER_NO_BATCH: not put yet */
    bool dirty; /* its record waits to be written */

    /* What is stored, once `counted`: after a restart that takes a walk over its ledger. */
    bool counted;
    uint64_t chunks, sequence_max;
    struct wall covered_to; /* end of the latest stored window */

    bool over; /* nothing more will be sampled: reported, or its incarnation is gone */
    bool sequence_known; /* record.last_sequence is the host's or the final chunk's word */
    bool drained; /* over, and the host has nothing of it left to send */
    bool finished; /* out of its plan, over, and nothing more can come */
    struct mono over_since;

    struct profiler_member *members;
    uint32_t member_count;
    struct profiler *next_dirty;
    struct profiler *next_unfinished; /* of its agent */
};

struct profilers; /* opaque: the table */

enum status profilers_new(struct profilers **out);
void profilers_free(struct profilers *t); /* NULL is fine */

/* Takes the record, which the table then owns; nulls nothing on failure. ST_EXISTS; ST_NOMEM. */
enum status profilers_add_take(struct profilers *t, struct profiler_record *record,
                               struct profiler **out);
struct profiler *profilers_find(const struct profilers *t, struct id128 id);
/* Frees it. No session may hold it as a member. */
void profilers_drop(struct profilers *t, struct profiler *p);
void profilers_each(const struct profilers *t, void (*visit)(void *arg, struct profiler *p),
                    void *arg);

/* The only place where a profiler's state changes. False: no such edge, nothing changed (a late or
 * repeated report). */
bool profiler_take_step(struct profiler *p, enum profiler_step step);

/* One more chunk is stored. Each (profiler, sequence) is to be told once. */
void profiler_count_chunk(struct profiler *p, uint64_t sequence, struct wall end, bool final);

/* Whether everything sampled before `to` is stored, or nothing more of it can come. */
bool profiler_settled(const struct profiler *p, struct wall to);
/* Chunks known to be missing: sequence numbers up to the last one known that are not stored. */
uint64_t profiler_missing(const struct profiler *p);

enum status profiler_join(struct profiler *p, struct session *s, uint32_t index);
/* Index of its first member in the session; UINT32_MAX: it has none. */
uint32_t profiler_first_member(const struct profiler *p, const struct session *s);
void profiler_leave(struct profiler *p, const struct session *s); /* all of its members */

#endif
