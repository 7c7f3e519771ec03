/* sessions - what operators wish for, and which samples are theirs.
 * A table of sessions by id, each with its members: the intervals of profilers that belong to it.
 * No I/O, no clock. Loop thread only. */
#ifndef COORDINATOR_CONTROL_SESSIONS_H
#define COORDINATOR_CONTROL_SESSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/selector.h"
#include "coordinator/control/control.h"
#include "coordinator/control/profilers.h"
#include "coordinator/store/records.h"

/* What happens to a session as a whole. */
enum session_event {
    SESSION_EVENT_OVER, /* its end has come, or it was stopped */
    SESSION_EVENT_COMPLETE, /* over by its deadline, and every chunk is in or given up */
    SESSION_EVENT_STOP, /* over by a stop, likewise */
    SESSION_EVENTS
};

struct session_host { /* one host of a session, over all profilers it had there */
    char host[MESSAGE_HOST_MAX + 1];
    uint32_t latest; /* index of its newest member */
    uint64_t samples, lost, chunks; /* stored */
};

struct session_run { /* what the record of a member does not say; same index */
    struct profiler *profiler; /* NULL: its record is gone from the store */
    struct session_host *host;
    bool settled; /* all of it is stored, or nothing more can come */
};

struct session {
    struct session_record record;
    struct selector *selector;
    struct session_run *runs; /* record.member_count of them */
    struct session_host **hosts; /* in the order of joining */
    void *hosts_by_name;
    uint32_t host_count;
    uint32_t unsettled; /* members */
    uint64_t samples, lost, chunks; /* stored, over all hosts */
    bool durable; /* its record is in the store; until then it is not planned */
    bool counted; /* the stored chunks of its members are in the counts */
    bool dirty; /* its record waits to be written */
    struct mono over_since; /* when it began to drain */
    struct session *next_dirty;
};

struct sessions; /* opaque: the table */

enum status sessions_new(struct sessions **out);
void sessions_free(struct sessions *t); /* NULL is fine */

/* Takes the record and parses its selector. ST_EXISTS: the id is taken; ST_INVALID: `why` names the
 * part of the selector. On failure the record stays the caller's. */
enum status sessions_add_take(struct sessions *t, struct session_record *record,
                              struct session **out, char why[SELECTOR_WHY_MAX]);
struct session *sessions_find(const struct sessions *t, uint64_t id);
void sessions_drop(struct sessions *t, struct session *s); /* also from its profilers */

uint32_t sessions_count(const struct sessions *t);
struct session *sessions_at(const struct sessions *t, uint32_t index); /* oldest first */
uint32_t sessions_live(const struct sessions *t); /* running or draining */
/* Forgets the oldest ended sessions beyond `keep`; they stay in the store. */
void sessions_trim(struct sessions *t, uint32_t keep);

/* The only place where a session's state changes. ST_BAD_STATE: no such edge. */
enum status session_handle(struct session *s, enum session_event event);
bool session_is_live(const struct session *s); /* running or draining */
/* Whether it wants hosts at `now`. */
bool session_is_wanting(const struct session *s, struct wall now);

/* Opens a member interval, or takes up the one that is open already. */
enum status session_open_member(struct session *s, struct profiler *p, struct wall from);
/* Closes the open interval of `p`, if there is one; true if so. */
bool session_close_member(struct session *s, const struct profiler *p, struct wall to);
void session_close_all(struct session *s, struct wall to);
/* Hooks members read from the store up to their profilers (NULL: gone). Once a session. */
enum status session_attach_member(struct session *s, uint32_t index, struct profiler *p);

/* Marks the member settled if its profiler says so, or if `given_up`. True if it changed. */
bool session_settle(struct session *s, uint32_t index, bool given_up);

/* Adds the part of a stored window that lies inside the member's interval. */
void session_count(struct session *s, uint32_t index, const struct ledger_row *row);

#endif
