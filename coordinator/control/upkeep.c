/* upkeep - what the passing of time asks of the control plane. See control.h. */
#include "coordinator/control/control_state.h"

#define SWEEP_NS (10 * NS_PER_S)

static void tick_agent(struct control *c, struct agent *a)
{
    if (agent_is_silent(a, c->now)) {
        struct link *link = a->link;

        c->counters.timed_out++;
        steer_away(c, a);
        c->options.close(c->options.arg, link);
        return;
    }
    if (a->link == NULL)
        return;
    if (a->retry_at.ns > 0 && mono_reached(c->now, a->retry_at))
        steer_touch(c, a);
    if (!a->due && a->acked_revision < a->sent_revision &&
        mono_since(c->now, a->plan_sent) >= CONTROL_RESEND_NS)
        steer_resend(c, a);
}

static void tick_session(struct control *c, struct session *s)
{
    if (s->record.state == SESSION_RUNNING && s->durable && c->wall.ns >= s->record.ends.ns)
        steer_session_over(c, s);
    else if (s->record.state == SESSION_DRAINING)
        steer_session_drain(c, s);
}

struct sweep { /* profilers that nothing refers to any more; some of them, the rest comes later */
    const struct control *control;
    struct profiler *found[256];
    size_t count;
};

static void find_disposable(void *arg, struct profiler *p)
{
    struct sweep *w = arg;
    const struct agent *a = fleet_find(w->control->fleet, p->record.host);

    if (!p->finished || p->member_count > 0 || p->dirty ||
        (a != NULL && a->slots[p->record.event].shown == p))
        return;
    if (w->count < sizeof(w->found) / sizeof(w->found[0]))
        w->found[w->count++] = p;
}

static void sweep_profilers(struct control *c)
{
    struct sweep w = {.control = c};

    if (mono_since(c->now, c->swept) < SWEEP_NS)
        return;
    c->swept = c->now;
    profilers_each(c->profilers, find_disposable, &w);
    for (size_t i = 0; i < w.count; i++)
        profilers_drop(c->profilers, w.found[i]);
}

void control_tick(struct control *c, struct mono now, struct wall wall)
{
    control_time(c, now, wall);
    journal_retry(c->journal);
    for (uint32_t i = 0; i < sessions_count(c->sessions); i++)
        tick_session(c, sessions_at(c->sessions, i));
    for (uint32_t i = 0; i < fleet_count(c->fleet); i++)
        tick_agent(c, fleet_at(c->fleet, i));
    sessions_trim(c->sessions, CONTROL_ENDED_MAX);
    sweep_profilers(c);
    steer(c);
}
