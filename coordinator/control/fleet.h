/* fleet - which agents there are, and which of them are connected.
 * Liveness goes by the time of receipt on the coordinator's monotonic clock; what an agent says of
 * its own clock is only shown. Does no I/O and reads no clock. Loop thread only. */
#ifndef COORDINATOR_CONTROL_FLEET_H
#define COORDINATOR_CONTROL_FLEET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/labels.h"
#include "common/message.h"
#include "coordinator/control/control.h"
#include "coordinator/control/planner.h"

struct profiler;

struct agent_slot { /* one event on one agent */
    struct profiler *profiler; /* the one in the plan; NULL: none */
    struct profiler *shown; /* that one, or the last of this coordinator's life; for people */
    struct mono begun; /* when `profiler` was assigned */
    struct mono may_begin; /* no new one before this: the host has just refused or given up */
};

struct agent {
    char host[MESSAGE_HOST_MAX + 1];
    struct labels labels; /* owned */
    char version[32];
    char degraded[MESSAGE_TEXT_MAX + 1];
    uint64_t incarnation;
    uint32_t cpus;

    struct link *link; /* NULL: away */
    struct mono heard; /* receipt of its last message; the start of this coordinator before any */
    struct wall last_seen; /* the same for people */
    struct heartbeat last; /* zero before the first of its life */
    double core_share; /* of one core, between its last two heartbeats; -1: not known */
    uint64_t delivered, lost; /* samples of its chunks, in this coordinator's life */

    struct agent_slot slots[EVENT_PLACES];
    struct profiler *unfinished; /* its profilers of which something may still come */
    struct planned planned; /* what it should do */
    uint64_t plan_revision; /* of `planned` */
    uint64_t sent_revision; /* the last that left on this connection; 0: none */
    uint64_t acked_revision;
    struct mono plan_sent;
    struct mono retry_at; /* work the plan out again then; 0: no need */

    bool touched; /* its plan has to be worked out again */
    bool due; /* its plan has to be sent */
    bool dirty; /* its record waits to be written */
    struct agent *next_touched, *next_due, *next_dirty;
    uint32_t place; /* in the fleet's array; the fleet's */
};

struct fleet; /* opaque */

enum status fleet_new(uint32_t agents_max, struct fleet **out);
void fleet_free(struct fleet *f); /* NULL is fine */

/* Finds the agent or adds an empty one. ST_FULL: at the limit; ST_NOMEM. */
enum status fleet_add(struct fleet *f, const char *host, struct agent **out);
struct agent *fleet_find(const struct fleet *f, const char *host); /* NULL: unknown */
struct agent *fleet_by_link(const struct fleet *f, const struct link *link);
void fleet_forget(struct fleet *f, struct agent *a); /* frees it; it must be away */
/* Who has been away longest; NULL: everyone is connected. To be forgotten at the limit. */
struct agent *fleet_longest_away(const struct fleet *f);

enum status fleet_connect(struct fleet *f, struct agent *a, struct link *link);
void fleet_disconnect(struct fleet *f, struct agent *a);

uint32_t fleet_count(const struct fleet *f);
uint32_t fleet_connected(const struct fleet *f);
struct agent *fleet_at(const struct fleet *f, uint32_t index); /* in no special order */

void agent_take_heartbeat(struct agent *a, const struct heartbeat *h);
void agent_heard(struct agent *a, struct mono now, struct wall wall);
/* Connected, and silent for CONTROL_IDLE_NS. */
bool agent_is_silent(const struct agent *a, struct mono now);

#endif
