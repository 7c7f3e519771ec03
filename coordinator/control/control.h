/* control - the control plane: which agents are there, which sessions are wanted, and hence what
 * each host should be doing. Desired state, not commands: plans are derived and pushed when they
 * change. Loop thread only; times are passed in. Owns no sockets: messages leave through `send`,
 * and a link is an opaque handle whose owner (coordinator/link) tells of its coming and going.
 * Sessions and profiler ids are durable before any plan that holds them leaves. */
#ifndef COORDINATOR_CONTROL_CONTROL_H
#define COORDINATOR_CONTROL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/message.h"
#include "common/selector.h"
#include "common/status.h"
#include "coordinator/ingest/ingest.h"
#include "coordinator/store/records.h"
#include "coordinator/store/store.h"

enum {
    CONTROL_AGENTS_MAX = 20000,
    CONTROL_SESSIONS_MAX = 10000, /* live ones */
    CONTROL_ENDED_MAX = 10000, /* ended ones that are listed; older ones are in the store alone */
    CONTROL_WHY_MAX = 256,
};
/* The highest plan revision that an agent may come with: those that follow it do not wrap. */
#define CONTROL_REVISION_MAX (UINT64_C(1) << 62)
#define CONTROL_HEARTBEAT_NS (10 * NS_PER_S)
/* Silence after which an agent counts as away. */
#define CONTROL_IDLE_NS (3 * CONTROL_HEARTBEAT_NS)
#define CONTROL_CHUNK_NS (10 * NS_PER_S)
#define CONTROL_SESSION_NS_MAX (UINT64_C(604800) * NS_PER_S) /* a week */
/* A session that is over stops waiting for the chunks of a host that has been away this long ... */
#define CONTROL_AWAY_NS (120 * NS_PER_S)
/* ... and for any chunk after this: three times what an agent needs to be back and empty its spool
 * of an hour. */
#define CONTROL_DRAIN_NS (900 * NS_PER_S)
/* A heartbeat that reports an empty spool this long after a profiler's end proves that nothing more
 * of it will come: its last chunk had a whole heartbeat's time to be spooled. */
#define CONTROL_DRAINED_NS CONTROL_HEARTBEAT_NS
/* A profiler that a host ended by itself is not followed by another before it is this old; a host
 * that refused one is not asked again for that long. */
#define CONTROL_RETRY_NS (5 * NS_PER_S)
#define CONTROL_REFUSED_NS (300 * NS_PER_S)
/* Nothing begins with less than this to go: a host whose clock runs a little faster ends by itself
 * a little early, and is not to start anew for the rest. */
#define CONTROL_BEGIN_NS (NS_PER_S / 4)
/* An unacknowledged plan is sent again. */
#define CONTROL_RESEND_NS (30 * NS_PER_S)

struct control; /* opaque */
struct link; /* the server's connection; opaque here */

struct control_options {
    struct store *store;
    uint32_t window; /* chunks that an agent may have unacknowledged; WELCOME says so */
    void (*send)(void *arg, struct link *link, const struct message *m);
    void (*close)(void *arg, struct link *link); /* a newer connection took over, or silence */
    void (*changed)(void *arg,
                    uint64_t session); /* a session's state or counts changed: for live views */
    void *arg;
};

/* Reads sessions, profilers and agents back from the store. */
enum status control_new(const struct control_options *options, struct mono now, struct wall wall,
                        struct control **out);
/* The store must have called every `done`: nothing may be waiting in it. NULL is fine. */
void control_free(struct control *c);
/* Tells the time. To be called before store_complete, whose callbacks carry none. */
void control_time(struct control *c, struct mono now, struct wall wall);

/* ---- from the agents ---- */
/* ST_FULL: too many agents; ST_INVALID: bad labels. `why` for the refusal.
 * On ST_OK it has sent WELCOME, and the plan follows. An older link of the same host has been told
 * of its replacement and closed. */
enum status control_hello(struct control *c, struct link *link, const struct hello *h,
                          struct mono now, struct wall wall, char why[CONTROL_WHY_MAX]);
void control_gone(struct control *c, struct link *link, struct mono now);
void control_heartbeat(struct control *c, struct link *link, const struct heartbeat *h,
                       struct mono now, struct wall wall);
void control_plan_ack(struct control *c, struct link *link, const struct plan_ack *a);
void control_profiler_state(struct control *c, struct link *link, const struct profiler_report *r,
                            struct wall wall);
void control_chunk_stored(struct control *c, const char *host, const struct chunk_info *info);
void control_heard(struct control *c, struct link *link, struct mono now); /* any message */

/* Ends sessions whose time has come, drops silent agents, pushes what is due. Call each second. */
void control_tick(struct control *c, struct mono now, struct wall wall);

/* ---- from operators ---- */
struct session_request {
    const char *selector; /* NULL or "": every host */
    enum event event;
    uint32_t hz;
    uint64_t duration_ns;
    const char *owner, *note;
};
/* `done` follows on the loop when the session is durable (ST_OK) or could not be made so.
 * ST_INVALID: `why` names the value; ST_FULL. */
typedef void control_done(void *arg, enum status st, uint64_t session);
enum status control_start(struct control *c, const struct session_request *r, struct wall now,
                          control_done *done, void *arg, char why[CONTROL_WHY_MAX]);
/* ST_NOT_FOUND; ST_DENIED: `owner` is not the session's (NULL: do not ask); ST_BAD_STATE: it has
 * ended. */
enum status control_stop(struct control *c, uint64_t session, const char *owner, struct wall now,
                         control_done *done, void *arg, char why[CONTROL_WHY_MAX]);
enum status control_rate(struct control *c, uint64_t session, uint32_t hz, struct wall now,
                         control_done *done, void *arg, char why[CONTROL_WHY_MAX]);

/* ---- views, valid until control next changes ---- */
struct running_view {
    struct id128 profiler;
    enum event event;
    uint64_t period_ns;
    enum profiler_state state;
    const char *reason; /* "" unless it was refused or ended early */
};
struct agent_view {
    const char *host;
    const struct labels *labels;
    const char *version, *degraded;
    bool connected;
    struct wall last_seen; /* by receive time */
    uint64_t incarnation;
    uint32_t cpus;
    int64_t clock_offset_ns;
    struct heartbeat last; /* cost, spool; zero before the first */
    double
        core_share; /* of one core, what the agent and its BPF programs took of late; -1: unknown */
    double lost_share; /* of the samples stored and lost in this coordinator's life; -1: none yet */
    struct running_view running[4]; /* one an event: runs, drains, or was refused */
    uint32_t running_count;
    uint64_t plan_revision, acked_revision;
};
void control_each_agent(const struct control *c,
                        void (*visit)(void *arg, const struct agent_view *a), void *arg);

#define HOST_STATE_LIST(X)      \
    X(PLANNED, "planned")       \
    X(SENT, "sent")             \
    X(ACCEPTED, "accepted")     \
    X(ATTACHED, "attached")     \
    X(SAMPLING, "first_sample") \
    X(DRAINING, "draining")     \
    X(ENDED, "ended")           \
    X(REFUSED, "refused")       \
    X(AWAY, "away")

enum host_state {
#define X(NAME, text) HOST_##NAME,
    HOST_STATE_LIST(X)
#undef X
        HOST_STATES
};
const char *host_state_name(enum host_state s);

struct session_host_view {
    const char *host;
    enum host_state state;
    const char *reason; /* "" unless refused, ended early or away */
    struct id128 profiler;
    uint64_t samples, lost, chunks; /* stored */
};
struct session_view {
    const struct session_record *record;
    uint32_t hosts, by_state[HOST_STATES];
    uint64_t samples, lost, chunks; /* stored, over all hosts */
    const struct session_host_view *host_views; /* `hosts` of them */
};
enum status control_session(struct control *c, uint64_t session, struct session_view *out);
void control_each_session(struct control *c, void (*visit)(void *arg, const struct session_view *s),
                          void *arg);

struct control_counters {
    uint32_t agents, connected, sessions_live;
    uint64_t hellos, plans_sent, replaced, timed_out, starts, stops, rate_changes;
};
struct control_counters control_read_counters(const struct control *c);

#endif
