/* restore - the control plane out of the store, as it was. See control_state.h. */
#include <string.h>

#include "common/log.h"
#include "coordinator/control/agent_record.h"
#include "coordinator/control/control_state.h"

/* A record that cannot be read is named and left alone: the others are worth more than a start. */
static void skip(const char *what, enum status why)
{
    log_error("event=record_unreadable what=%s why=\"%s\"", what, status_text(why));
}

static enum status take_agent(void *arg, struct slice key, struct slice value)
{
    struct control *c = arg;
    char host[MESSAGE_HOST_MAX + 1] = "";
    struct agent *a;
    enum status st;

    if (key.length == 0 || key.length > MESSAGE_HOST_MAX) {
        skip("agent", ST_TOO_BIG);
        return ST_OK;
    }
    memcpy(host, key.bytes, key.length);
    st = fleet_add(c->fleet, host, &a);
    if (st != ST_OK)
        return st == ST_FULL ? ST_OK : st;
    a->heard = c->now; /* it has as long as everyone to come back */
    st = agent_record_decode(value, a);
    if (st != ST_OK)
        skip("agent", st);
    return ST_OK;
}

static enum status take_session(void *arg, struct slice key, struct slice value)
{
    struct control *c = arg;
    struct session_record record;
    char why[SELECTOR_WHY_MAX];
    struct session *s;
    enum status st = session_record_decode(value, &record);

    (void)key;
    if (st == ST_OK) {
        st = sessions_add_take(c->sessions, &record, &s, why);
        if (st != ST_OK)
            session_record_deinit(&record);
    }
    if (st != ST_OK) {
        skip("session", st);
        return st == ST_NOMEM ? st : ST_OK;
    }
    s->durable = true;
    s->over_since = c->now;
    return ST_OK;
}

static enum status add_profiler(struct control *c, struct profiler_record *record)
{
    struct profiler *p;
    enum status st = profilers_add_take(c->profilers, record, &p);

    if (st != ST_OK) {
        profiler_record_deinit(record);
        return st == ST_EXISTS ? ST_OK : st;
    }
    p->batch = 0;
    p->sent_revision = 1; /* it may have been sent */
    (void)profiler_take_step(p, STEP_SENT);
    return ST_OK;
}

static enum status take_open_profiler(void *arg, struct slice key, struct slice value)
{
    struct control *c = arg;
    struct profiler_record record;
    enum status st = profiler_record_decode(value, &record);

    (void)key;
    if (st != ST_OK) {
        skip("profiler", st);
        return ST_OK;
    }
    if (record.ended.ns == 0)
        return add_profiler(c, &record);
    profiler_record_deinit(&record);
    return ST_OK;
}

/* ---- members ---- */

static enum status attach(struct control *c, struct store_view *v, struct session *s)
{
    for (uint32_t i = 0; i < s->record.member_count; i++) {
        struct id128 id = s->record.members[i].profiler;
        struct profiler_record record;
        enum status st = ST_OK;

        if (profilers_find(c->profilers, id) == NULL)
            st = profiler_record_load(v, id, &record);
        else
            st = ST_EXISTS;
        if (st == ST_OK)
            st = add_profiler(c, &record);
        else if (st != ST_EXISTS)
            skip("profiler", st);
        if (st == ST_NOMEM)
            return st;
        st = session_attach_member(s, i, profilers_find(c->profilers, id));
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

/* Something of it may still come: it is wanted, or a session waits for it. */
static bool is_live(const struct profiler *p)
{
    for (uint32_t i = 0; i < p->member_count; i++)
        if (session_is_live(p->members[i].session))
            return true;
    return p->record.ended.ns == 0;
}

/* The profiler goes on if its agent's life does, and it is the event's newest. */
static void place_profiler(void *arg, struct profiler *p)
{
    struct control *c = arg;
    struct agent *a = fleet_find(c->fleet, p->record.host);
    struct agent_slot *slot;

    if (a == NULL && fleet_add(c->fleet, p->record.host, &a) == ST_OK) {
        a->incarnation = p->record.incarnation;
        a->heard = c->now;
        a->last_seen = p->record.assigned;
    }
    p->sequence_known = p->record.last_sequence > 0;
    p->finished = a == NULL || !is_live(p);
    if (p->finished)
        return;
    p->next_unfinished = a->unfinished;
    a->unfinished = p;
    slot = &a->slots[p->record.event];
    if (p->record.ended.ns == 0 && p->record.incarnation == a->incarnation &&
        (slot->profiler == NULL || slot->profiler->record.assigned.ns < p->record.assigned.ns)) {
        slot->profiler = slot->shown = p;
        slot->begun = c->now;
    }
}

/* After every profiler is placed: what has no place in a plan is over. */
static void end_unplaced(void *arg, struct profiler *p)
{
    struct control *c = arg;
    const struct agent *a = fleet_find(c->fleet, p->record.host);
    struct wall seen = a != NULL ? a->last_seen : p->record.assigned;

    if (p->finished || (a != NULL && a->slots[p->record.event].profiler == p))
        return;
    steer_over(c, p);
    steer_end(c, p, seen, c->wall);
}

/* ---- what is stored ---- */

struct recount {
    struct profiler *profiler;
    const struct session *only; /* NULL: every session that is counted from the start */
};

static enum status count_row(void *arg, const struct ledger_row *row)
{
    const struct recount *r = arg;
    struct profiler *p = r->profiler;

    if (!p->counted) {
        profiler_count_chunk(p, row->sequence, row->end, row->final);
        p->period_ns = row->period_ns;
        (void)profiler_take_step(p, STEP_SAMPLED);
    }
    for (uint32_t i = 0; i < p->member_count; i++) {
        struct session *s = p->members[i].session;

        if (r->only != NULL ? s == r->only : s->counted)
            session_count(s, p->members[i].index, row);
    }
    return ST_OK;
}

struct count_all {
    struct store_view *view;
    enum status status;
};

static void count_live_profiler(void *arg, struct profiler *p)
{
    struct count_all *all = arg;
    struct recount r = {.profiler = p};

    if (all->status != ST_OK || !is_live(p))
        return;
    all->status = store_view_profiler(all->view, p->record.id, count_row, &r);
    p->counted = true;
}

enum status restore_counts(struct control *c, struct session *s)
{
    struct store_view *v;
    enum status st = store_view_open(c->options.store, &v);

    if (st != ST_OK)
        return st;
    for (uint32_t i = 0; i < s->record.member_count && st == ST_OK; i++) {
        struct recount r = {s->runs[i].profiler, s};

        /* One walk counts all members that the profiler has in the session: at its first. */
        if (r.profiler == NULL || profiler_first_member(r.profiler, s) != i)
            continue;
        st = store_view_profiler(v, r.profiler->record.id, count_row, &r);
        r.profiler->counted = true;
    }
    store_view_close(v);
    s->counted = st == ST_OK;
    return st;
}

static enum status read_all(struct control *c, struct store_view *v)
{
    struct count_all all = {.view = v};
    enum status st = store_view_each(v, STORE_AGENTS, take_agent, c);

    if (st == ST_OK)
        st = store_view_each(v, STORE_SESSIONS, take_session, c);
    if (st != ST_OK)
        return st;
    sessions_trim(c->sessions, CONTROL_ENDED_MAX);
    st = store_view_each(v, STORE_PROFILERS, take_open_profiler, c);
    for (uint32_t i = 0; i < sessions_count(c->sessions) && st == ST_OK; i++) {
        struct session *s = sessions_at(c->sessions, i);

        s->counted = session_is_live(s);
        st = attach(c, v, s);
    }
    if (st != ST_OK)
        return st;
    profilers_each(c->profilers, count_live_profiler, &all);
    return all.status;
}

enum status restore(struct control *c)
{
    struct store_view *v;
    enum status st = store_view_open(c->options.store, &v);

    if (st != ST_OK)
        return st;
    st = read_all(c, v);
    store_view_close(v);
    if (st != ST_OK)
        return st;
    profilers_each(c->profilers, place_profiler, c);
    profilers_each(c->profilers, end_unplaced, c);
    return ST_OK;
}
