/* control_state - what the files of the control plane share among themselves; nobody else includes
 * it. control.c hears the agents, commands.c the operators, upkeep.c the clock; steering.c turns it
 * all into plans, keeping.c into records; restore.c reads those back and views.c shows them. */
#ifndef COORDINATOR_CONTROL_CONTROL_STATE_H
#define COORDINATOR_CONTROL_CONTROL_STATE_H

#include "coordinator/control/control.h"
#include "coordinator/control/fleet.h"
#include "coordinator/control/journal.h"
#include "coordinator/control/profilers.h"
#include "coordinator/control/sessions.h"

struct waiter; /* a command that waits until it is durable */

struct control {
    struct control_options options;
    struct fleet *fleet;
    struct sessions *sessions;
    struct profilers *profilers;
    struct journal *journal;
    struct wire_writer *writer; /* for records */
    uint64_t durable_batch; /* every batch up to this one is in the store */
    bool failing; /* the last attempt to write failed: log when that changes */
    struct mono now;
    struct wall wall;
    struct mono swept; /* when profilers were last looked through for ones to drop */

    struct agent *touched; /* plans to work out again */
    struct agent *due; /* plans to send */
    struct agent *dirty_agents; /* records to write */
    struct session *dirty_sessions;
    struct profiler *dirty_profilers;
    struct waiter *waiters;

    struct session_host_view *host_views; /* of the view given out last */
    uint32_t host_view_capacity;
    struct control_counters counters;
};

/* ---- keeping.c: what has to be remembered ---- */

void keep_agent(struct control *c, struct agent *a);
void keep_session(struct control *c, struct session *s);
void keep_profiler(struct control *c, struct profiler *p);
/* Takes it off the list of what waits to be written. */
void unkeep_agent(struct control *c, struct agent *a);
void unkeep_session(struct control *c, struct session *s);
void keeping_forget_agent(struct control *c, const char *host); /* deletes its record */
/* Encodes what waits and submits it, if nothing is being written; else that comes after. */
void keeping_flush(struct control *c);
/* `done` follows when all that was kept until now is durable, or once with the failure. `begins`:
 * the command is the start of the session, which joins planning or vanishes accordingly. */
enum status keeping_wait(struct control *c, uint64_t session, bool begins, control_done *done,
                         void *arg);
void keeping_written(void *control, uint64_t batch, enum status st); /* the journal's */
void keeping_free(struct control *c);

/* ---- steering.c: from wishes to plans ---- */

void steer_touch(struct control *c, struct agent *a);
void steer_touch_matching(struct control *c, const struct session *s);
void steer_touch_hosts(struct control *c, const struct session *s);
/* Works out touched plans, flushes records, sends the plans whose profilers are durable. Every
 * entry into control ends with it. */
void steer(struct control *c);
void steer_resend(struct control *c, struct agent *a); /* the plan once more, as it stands now */
void steer_away(struct control *c, struct agent *a); /* its connection is gone */
void steer_forget(struct control *c, struct agent *a); /* removes it from the lists */

/* The profiler leaves the plan for good; members that are still open close at `members_to`. */
void steer_end(struct control *c, struct profiler *p, struct wall ended, struct wall members_to);
/* Nothing more will be sampled under it. */
void steer_over(struct control *c, struct profiler *p);
/* Looks whether members of `p`, and with them sessions, have everything now. */
void steer_settle(struct control *c, struct profiler *p);
void steer_session_over(struct control *c, struct session *s);
/* Settles a draining session's members; gives up those whose limit has passed. */
void steer_session_drain(struct control *c, struct session *s);
void tell_changed(const struct control *c, const struct profiler *p); /* its sessions */

/* ---- restore.c: from the store ---- */

enum status restore(struct control *c);
/* Recounts what the store holds of an ended session, on its first view. */
enum status restore_counts(struct control *c, struct session *s);

#endif
