/* views - the control plane as people and the API see it. See control.h. */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "coordinator/control/control_state.h"

const char *host_state_name(enum host_state s)
{
    switch (s) {
#define X(NAME, text) \
    case HOST_##NAME: \
        return text;
        HOST_STATE_LIST(X)
#undef X
    case HOST_STATES:
        break;
    }
    return "unknown";
}

/* ---- agents ---- */

static enum profiler_state reported_state(enum host_state s)
{
    switch (s) {
    case HOST_ACCEPTED:
        return PROFILER_ACCEPTED;
    case HOST_ATTACHED:
        return PROFILER_ATTACHED;
    case HOST_SAMPLING:
        return PROFILER_SAMPLING;
    case HOST_DRAINING:
        return PROFILER_DRAINING;
    case HOST_ENDED:
        return PROFILER_ENDED;
    case HOST_REFUSED:
        return PROFILER_REFUSED;
    case HOST_PLANNED:
    case HOST_SENT:
    case HOST_AWAY:
    case HOST_STATES:
        break;
    }
    return PROFILER_NONE;
}

static double lost_share(const struct agent *a)
{
    double wanted = (double)a->delivered + (double)a->lost;

    return wanted > 0 ? (double)a->lost / wanted : -1;
}

static struct agent_view view_agent(const struct agent *a)
{
    struct agent_view v = {
        .host = a->host,
        .labels = &a->labels,
        .version = a->version,
        .degraded = a->degraded,
        .connected = a->link != NULL,
        .last_seen = a->last_seen,
        .incarnation = a->incarnation,
        .cpus = a->cpus,
        .clock_offset_ns = a->last.clock_offset_ns,
        .last = a->last,
        .core_share = a->core_share,
        .lost_share = lost_share(a),
        .plan_revision = a->plan_revision,
        .acked_revision = a->acked_revision,
    };

    _Static_assert(EVENT_PLACES - 1 <= sizeof(v.running) / sizeof(v.running[0]),
                   "every event has its place in the view");
    for (size_t e = 0; e < EVENT_PLACES; e++) {
        const struct profiler *p = a->slots[e].shown;

        if (p == NULL || p->state == HOST_ENDED)
            continue;
        v.running[v.running_count++] = (struct running_view){
            .profiler = p->record.id,
            .event = p->record.event,
            .period_ns =
                p->period_ns > 0 ? p->period_ns : planner_period_ns(a->planned.items[e].need.hz),
            .state = reported_state(p->state),
            .reason = p->reason,
        };
    }
    return v;
}

void control_each_agent(const struct control *c,
                        void (*visit)(void *arg, const struct agent_view *a), void *arg)
{
    for (uint32_t i = 0; i < fleet_count(c->fleet); i++) {
        struct agent_view v = view_agent(fleet_at(c->fleet, i));

        visit(arg, &v);
    }
}

/* ---- sessions ---- */

static enum host_state state_of(const struct control *c, const struct session *s, uint32_t member)
{
    const struct session_run *run = &s->runs[member];
    const struct agent *a;

    if (run->settled)
        return run->profiler->state == HOST_REFUSED ? HOST_REFUSED : HOST_ENDED;
    a = fleet_find(c->fleet, run->host->host);
    if (a == NULL || a->link == NULL)
        return HOST_AWAY;
    if (s->record.members[member].to.ns > 0)
        return HOST_DRAINING;
    return run->profiler->state;
}

static const char *reason_of(const struct session *s, uint32_t member, enum host_state state)
{
    const struct profiler *p = s->runs[member].profiler;

    if (state == HOST_AWAY)
        return "the host is not connected";
    if (p->reason[0] != '\0' || state != HOST_ENDED)
        return p->reason;
    if (!profiler_settled(p, s->record.members[member].to) || profiler_missing(p) > 0)
        return "chunks are missing: the ledger has them";
    return "";
}

static struct session_host_view view_host(const struct control *c, const struct session *s,
                                          const struct session_host *host)
{
    enum host_state state = state_of(c, s, host->latest);

    return (struct session_host_view){
        .host = host->host,
        .state = state,
        .reason = reason_of(s, host->latest, state),
        .profiler = s->record.members[host->latest].profiler,
        .samples = host->samples,
        .lost = host->lost,
        .chunks = host->chunks,
    };
}

static enum status make_room(struct control *c, uint32_t hosts)
{
    struct session_host_view *views;

    if (hosts <= c->host_view_capacity)
        return ST_OK;
    views = realloc(c->host_views, hosts * sizeof(*views));
    if (views == NULL)
        return ST_NOMEM;
    c->host_views = views;
    c->host_view_capacity = hosts;
    return ST_OK;
}

static enum status view_session(struct control *c, struct session *s, struct session_view *out)
{
    struct session_view v = {.record = &s->record, .hosts = s->host_count};
    enum status st = s->counted ? ST_OK : restore_counts(c, s);

    if (st == ST_OK)
        st = make_room(c, s->host_count);
    if (st != ST_OK)
        return st;
    for (uint32_t i = 0; i < s->host_count; i++) {
        c->host_views[i] = view_host(c, s, s->hosts[i]);
        v.by_state[c->host_views[i].state]++;
    }
    v.samples = s->samples;
    v.lost = s->lost;
    v.chunks = s->chunks;
    v.host_views = c->host_views;
    *out = v;
    return ST_OK;
}

enum status control_session(struct control *c, uint64_t session, struct session_view *out)
{
    struct session *s = sessions_find(c->sessions, session);

    return s != NULL ? view_session(c, s, out) : ST_NOT_FOUND;
}

/* Newest first. */
void control_each_session(struct control *c, void (*visit)(void *arg, const struct session_view *s),
                          void *arg)
{
    for (uint32_t i = sessions_count(c->sessions); i > 0; i--) {
        struct session *s = sessions_at(c->sessions, i - 1);
        struct session_view v;
        enum status st = view_session(c, s, &v);

        if (st == ST_OK)
            visit(arg, &v);
        else
            log_warn("event=session_not_shown session=%016llx why=\"%s\"",
                     (unsigned long long)s->record.id, status_text(st));
    }
}
