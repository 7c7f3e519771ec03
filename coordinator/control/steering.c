/* steering - from what sessions wish for to what each host is told. See control_state.h.
 * Changes only touch agents; the plans of the touched ones are worked out once, at the end of the
 * entry into control, and leave when the profilers in them are durable. */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "coordinator/control/control_state.h"

void steer_touch(struct control *c, struct agent *a)
{
    if (a->touched)
        return;
    a->touched = true;
    a->next_touched = c->touched;
    c->touched = a;
}

void steer_touch_matching(struct control *c, const struct session *s)
{
    for (uint32_t i = 0; i < fleet_count(c->fleet); i++) {
        struct agent *a = fleet_at(c->fleet, i);

        if (a->link != NULL && selector_matches(s->selector, &a->labels))
            steer_touch(c, a);
    }
}

void steer_touch_hosts(struct control *c, const struct session *s)
{
    for (uint32_t i = 0; i < s->host_count; i++) {
        struct agent *a = fleet_find(c->fleet, s->hosts[i]->host);

        if (a != NULL)
            steer_touch(c, a);
    }
}

void steer_forget(struct control *c, struct agent *a)
{
    struct agent **at = &c->touched;

    while (*at != NULL && *at != a)
        at = &(*at)->next_touched;
    if (*at != NULL)
        *at = (*at)->next_touched;
    for (at = &c->due; *at != NULL && *at != a;)
        at = &(*at)->next_due;
    if (*at != NULL)
        *at = (*at)->next_due;
    a->touched = a->due = false;
}

void tell_changed(const struct control *c, const struct profiler *p)
{
    for (uint32_t i = 0; i < p->member_count; i++)
        c->options.changed(c->options.arg, p->members[i].session->record.id);
}

void steer_away(struct control *c, struct agent *a)
{
    fleet_disconnect(c->fleet, a);
    keep_agent(c, a); /* when it was seen last */
    for (size_t e = 0; e < EVENT_PLACES; e++)
        if (a->slots[e].profiler != NULL)
            tell_changed(c, a->slots[e].profiler);
}

/* ---- profilers come and go ---- */

static enum status assign(struct control *c, struct agent *a, enum event event)
{
    struct agent_slot *slot = &a->slots[event];
    struct profiler_record record = {
        .id = id128_random(),
        .incarnation = a->incarnation,
        .event = event,
        .assigned = c->wall,
    };
    struct profiler *p;
    enum status st = labels_copy(&a->labels, &record.labels);

    if (st != ST_OK)
        return st;
    memcpy(record.host, a->host, sizeof(record.host));
    st = profilers_add_take(c->profilers, &record, &p);
    if (st != ST_OK) {
        labels_deinit(&record.labels);
        return st;
    }
    p->batch = PROFILER_NO_BATCH;
    p->counted = true; /* from nothing */
    p->next_unfinished = a->unfinished;
    a->unfinished = p;
    slot->profiler = slot->shown = p;
    slot->begun = c->now;
    keep_profiler(c, p);
    return ST_OK;
}

/* Its place in its agent's plan; NULL when it has none any more. */
static struct agent_slot *slot_of(const struct control *c, const struct profiler *p)
{
    struct agent *a = fleet_find(c->fleet, p->record.host);

    if (a == NULL || a->slots[p->record.event].profiler != p)
        return NULL;
    return &a->slots[p->record.event];
}

void steer_end(struct control *c, struct profiler *p, struct wall ended, struct wall members_to)
{
    struct agent_slot *slot = slot_of(c, p);

    if (slot != NULL)
        slot->profiler = NULL;
    if (p->record.ended.ns == 0) {
        p->record.ended = ended.ns > p->record.assigned.ns ? ended : p->record.assigned;
        keep_profiler(c, p);
    }
    for (uint32_t i = 0; i < p->member_count; i++) {
        struct session *s = p->members[i].session;

        if (session_close_member(s, p, members_to))
            keep_session(c, s);
    }
    if (p->sent_revision == 0) { /* its host has never heard of it */
        (void)profiler_take_step(p, STEP_ENDED);
        p->sequence_known = true;
        steer_over(c, p);
    }
    steer_settle(c, p);
}

void steer_over(struct control *c, struct profiler *p)
{
    if (p->over)
        return;
    p->over = true;
    p->over_since = c->now;
}

/* ---- members settle, sessions complete ---- */

static void finish_if_settled(struct control *c, struct session *s)
{
    enum session_event event = s->record.stopped ? SESSION_EVENT_STOP : SESSION_EVENT_COMPLETE;

    if (s->unsettled > 0 || session_handle(s, event) != ST_OK)
        return;
    keep_session(c, s);
    c->options.changed(c->options.arg, s->record.id);
}

static void finish_profiler(struct control *c, struct profiler *p)
{
    struct agent *a = fleet_find(c->fleet, p->record.host);
    struct profiler **at;

    p->finished = true;
    if (a == NULL)
        return;
    for (at = &a->unfinished; *at != NULL && *at != p;)
        at = &(*at)->next_unfinished;
    if (*at != NULL)
        *at = p->next_unfinished;
    p->next_unfinished = NULL;
}

void steer_settle(struct control *c, struct profiler *p)
{
    bool finished = p->over && (p->drained || (p->sequence_known && profiler_missing(p) == 0));

    for (uint32_t i = 0; i < p->member_count; i++) {
        struct session *s = p->members[i].session;

        if (!session_settle(s, p->members[i].index, false))
            continue;
        c->options.changed(c->options.arg, s->record.id);
        finish_if_settled(c, s);
    }
    if (finished && slot_of(c, p) == NULL)
        finish_profiler(c, p);
}

void steer_session_over(struct control *c, struct session *s)
{
    if (session_handle(s, SESSION_EVENT_OVER) != ST_OK)
        return;
    s->over_since = c->now;
    session_close_all(s, s->record.ends);
    keep_session(c, s);
    steer_touch_hosts(c, s);
    c->options.changed(c->options.arg, s->record.id);
    steer_session_drain(c, s);
}

/* Whether the member's host has been given all the time there is. */
static bool is_given_up(const struct control *c, const struct session *s, uint32_t index)
{
    const struct agent *a = fleet_find(c->fleet, s->runs[index].host->host);

    if (mono_since(c->now, s->over_since) >= CONTROL_DRAIN_NS)
        return true;
    return a == NULL || (a->link == NULL && mono_since(c->now, a->heard) >= CONTROL_AWAY_NS);
}

void steer_session_drain(struct control *c, struct session *s)
{
    for (uint32_t i = 0; i < s->record.member_count && s->unsettled > 0; i++) {
        if (s->runs[i].settled)
            continue;
        if (session_settle(s, i, is_given_up(c, s, i)))
            c->options.changed(c->options.arg, s->record.id);
    }
    finish_if_settled(c, s);
}

/* ---- plans ---- */

static struct planner wishes_for(const struct control *c, const struct agent *a)
{
    struct planner p = {0};

    for (uint32_t i = 0; i < sessions_count(c->sessions); i++) {
        const struct session *s = sessions_at(c->sessions, i);
        struct planner_need wish = {s->record.hz, s->record.ends};

        if (session_is_wanting(s, c->wall) && selector_matches(s->selector, &a->labels))
            planner_want(&p, s->record.event, wish, c->wall);
    }
    return p;
}

static void step_event(struct control *c, struct agent *a, enum event event,
                       const struct planner_need *need)
{
    struct agent_slot *slot = &a->slots[event];
    bool may_begin =
        mono_reached(c->now, slot->may_begin) && need->ends.ns >= c->wall.ns + CONTROL_BEGIN_NS;
    enum status st;

    switch (planner_step(need, slot->profiler != NULL, may_begin)) {
    case PLANNER_REST:
        if (need->hz > 0 && (a->retry_at.ns == 0 || slot->may_begin.ns < a->retry_at.ns))
            a->retry_at = slot->may_begin;
        return;
    case PLANNER_KEEP:
        return;
    case PLANNER_END:
        if (slot->profiler != NULL) /* it runs, or there would be nothing to end */
            steer_end(c, slot->profiler, c->wall, c->wall);
        return;
    case PLANNER_ASSIGN:
        st = assign(c, a, event);
        if (st != ST_OK)
            log_error("event=profiler_not_assigned host=%s why=\"%s\"", a->host, status_text(st));
        return;
    }
}

/* Sessions that want the host gain a member interval, those that no longer do lose theirs. */
static void reconcile_members(struct control *c, struct agent *a)
{
    for (uint32_t i = 0; i < sessions_count(c->sessions); i++) {
        struct session *s = sessions_at(c->sessions, i);
        struct profiler *p = a->slots[s->record.event].profiler;
        uint32_t before = s->record.member_count;
        enum status st = ST_OK;

        if (p == NULL || s->record.state != SESSION_RUNNING)
            continue;
        if (session_is_wanting(s, c->wall) && selector_matches(s->selector, &a->labels))
            st = session_open_member(s, p, c->wall);
        else if (!session_close_member(s, p, c->wall))
            continue;
        if (st != ST_OK)
            log_error("event=host_not_joined session=%016llx host=%s why=\"%s\"",
                      (unsigned long long)s->record.id, a->host, status_text(st));
        if (s->record.member_count == before && session_is_wanting(s, c->wall))
            continue; /* it was open already */
        keep_session(c, s);
        c->options.changed(c->options.arg, s->record.id);
    }
}

static struct planned plan_of(const struct agent *a, const struct planner *wishes)
{
    struct planned plan = {0};

    for (size_t e = 0; e < EVENT_PLACES; e++)
        if (a->slots[e].profiler != NULL)
            plan.items[e] =
                (struct planned_item){a->slots[e].profiler->record.id, wishes->needs[e]};
    return plan;
}

static void derive(struct control *c, struct agent *a)
{
    struct planner wishes = wishes_for(c, a);
    struct planned plan;

    a->retry_at = (struct mono){0};
    for (size_t e = 1; e < EVENT_PLACES; e++)
        step_event(c, a, (enum event)e, &wishes.needs[e]);
    reconcile_members(c, a);
    plan = plan_of(a, &wishes);
    if (a->sent_revision > 0 && planned_equal(&plan, &a->planned))
        return;
    a->planned = plan;
    a->plan_revision++;
    if (!a->due) {
        a->due = true;
        a->next_due = c->due;
        c->due = a;
    }
}

static bool is_durable(const struct control *c, const struct agent *a)
{
    for (size_t e = 0; e < EVENT_PLACES; e++) {
        const struct profiler *p = a->slots[e].profiler;

        if (p != NULL && p->batch > c->durable_batch)
            return false;
    }
    return true;
}

void steer_resend(struct control *c, struct agent *a)
{
    struct message m = {.type = MESSAGE_PLAN};

    planned_message(&a->planned, a->plan_revision, c->wall, CONTROL_CHUNK_NS, &m.plan);
    a->sent_revision = a->plan_revision;
    a->plan_sent = c->now;
    c->counters.plans_sent++;
    for (size_t e = 0; e < EVENT_PLACES; e++) {
        struct profiler *p = a->slots[e].profiler;

        if (p == NULL || p->sent_revision > 0)
            continue;
        p->sent_revision = a->plan_revision;
        if (profiler_take_step(p, STEP_SENT))
            tell_changed(c, p);
    }
    c->options.send(c->options.arg, a->link, &m);
}

static void send_due(struct control *c)
{
    struct agent *waiting = c->due;

    c->due = NULL;
    while (waiting != NULL) {
        struct agent *a = waiting;

        waiting = a->next_due;
        if (a->link != NULL && !is_durable(c, a)) {
            a->next_due = c->due;
            c->due = a;
            continue;
        }
        a->due = false;
        if (a->link != NULL)
            steer_resend(c, a);
    }
}

void steer(struct control *c)
{
    while (c->touched != NULL) {
        struct agent *a = c->touched;

        c->touched = a->next_touched;
        a->touched = false;
        if (a->link != NULL)
            derive(c, a);
    }
    keeping_flush(c);
    send_due(c);
}
