/* control - the control plane hears the agents. See control.h, and control_state.h for the rest. */
#include "coordinator/control/control.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "coordinator/control/control_state.h"

enum {
    /* A session over CONTROL_AGENTS_MAX hosts with three intervals each, 48 bytes a member. */
    RECORD_BYTES_MAX = 16 << 20,
};

enum status control_new(const struct control_options *options, struct mono now, struct wall wall,
                        struct control **out)
{
    struct control *c = calloc(1, sizeof(*c));
    enum status st = ST_NOMEM;

    if (c == NULL)
        goto out;
    c->options = *options;
    control_time(c, now, wall);
    st = fleet_new(CONTROL_AGENTS_MAX, &c->fleet);
    if (st == ST_OK)
        st = sessions_new(&c->sessions);
    if (st == ST_OK)
        st = profilers_new(&c->profilers);
    if (st == ST_OK)
        st = journal_new(options->store, keeping_written, c, &c->journal);
    if (st == ST_OK)
        st = wire_writer_new(RECORD_BYTES_MAX, &c->writer);
    if (st == ST_OK)
        st = restore(c);
    if (st != ST_OK)
        goto out;

    *out = c;
    c = NULL;
out:
    control_free(c);
    return st;
}

void control_free(struct control *c)
{
    if (c == NULL)
        return;
    keeping_free(c);
    sessions_free(c->sessions); /* leaves the profilers, so before them */
    profilers_free(c->profilers);
    fleet_free(c->fleet);
    journal_free(c->journal);
    wire_writer_free(c->writer);
    free(c->host_views);
    free(c);
}

void control_time(struct control *c, struct mono now, struct wall wall)
{
    c->now = now;
    c->wall = wall;
}

/* ---- hello ---- */

static void tell_replaced(struct control *c, struct link *old)
{
    struct message m = {.type = MESSAGE_REFUSAL};

    m.refusal.about = MESSAGE_HELLO;
    m.refusal.reason = REFUSAL_REPLACED;
    snprintf(m.refusal.text, sizeof(m.refusal.text),
             "another connection said hello for the same host");
    c->options.send(c->options.arg, old, &m);
    c->options.close(c->options.arg, old);
}

static void send_welcome(const struct control *c, struct link *link)
{
    struct message m = {.type = MESSAGE_WELCOME,
                        .welcome = {.now = c->wall,
                                    .window = c->options.window,
                                    .heartbeat_ns = CONTROL_HEARTBEAT_NS,
                                    .idle_limit_ns = CONTROL_IDLE_NS}};

    c->options.send(c->options.arg, link, &m);
}

/* At the limit, whoever has been away longest makes room. */
static enum status find_or_add(struct control *c, const char *host, struct agent **out)
{
    enum status st = fleet_add(c->fleet, host, out);
    struct agent *away;

    if (st != ST_FULL)
        return st;
    away = fleet_longest_away(c->fleet);
    if (away == NULL)
        return ST_FULL;
    for (size_t e = 0; e < EVENT_PLACES; e++)
        if (away->slots[e].profiler != NULL)
            steer_end(c, away->slots[e].profiler, away->last_seen, away->last_seen);
    for (struct profiler *p = away->unfinished; p != NULL; p = p->next_unfinished)
        p->finished = true;
    unkeep_agent(c, away);
    steer_forget(c, away);
    keeping_forget_agent(c, away->host);
    fleet_forget(c->fleet, away);
    return fleet_add(c->fleet, host, out);
}

/* The agent has begun a new life: what ran in the last one is over. Its samples may still be in the
 * spool, up to any time before now, so its sessions keep their interval open to now. */
static void begin_incarnation(struct control *c, struct agent *a, uint64_t incarnation)
{
    struct profiler *next;

    for (struct profiler *p = a->unfinished; p != NULL; p = next) {
        next = p->next_unfinished;
        steer_over(c, p);
        (void)profiler_take_step(p, STEP_ENDED);
        steer_end(c, p, a->last_seen, c->wall);
    }
    for (size_t e = 0; e < EVENT_PLACES; e++)
        a->slots[e] = (struct agent_slot){0};
    a->incarnation = incarnation;
    a->acked_revision = 0;
    memset(&a->last, 0, sizeof(a->last));
}

static bool says_running(const struct hello *h, struct id128 id)
{
    for (uint32_t i = 0; i < h->running_count; i++)
        if (id128_equal(h->running[i], id))
            return true;
    return false;
}

/* The same life on a new connection. What it was sent and does not run is over, for its profiler id
 * must not be begun twice: the sequence numbers would collide. */
static void compare_running(struct control *c, struct agent *a, const struct hello *h)
{
    struct profiler *next;

    for (struct profiler *p = a->unfinished; p != NULL; p = next) {
        next = p->next_unfinished;
        if (p->sent_revision == 0)
            continue;
        if (says_running(h, p->record.id)) {
            (void)profiler_take_step(p, STEP_ACCEPTED);
            continue;
        }
        steer_over(c, p);
        (void)profiler_take_step(p, STEP_ENDED);
        steer_end(c, p, c->wall, c->wall);
    }
}

/* Profilers carry the labels of their assignment, so new labels need new profilers. */
static void relabel(struct control *c, struct agent *a, struct labels *labels)
{
    if (!labels_equal(&a->labels, labels))
        for (size_t e = 0; e < EVENT_PLACES; e++)
            if (a->slots[e].profiler != NULL)
                steer_end(c, a->slots[e].profiler, c->wall, c->wall);
    labels_deinit(&a->labels);
    a->labels = *labels;
    *labels = (struct labels){0};
}

static enum status check_hello(const struct hello *h, struct labels *labels,
                               char why[CONTROL_WHY_MAX])
{
    enum status st = ST_INVALID;

    if (h->plan_revision > CONTROL_REVISION_MAX) {
        snprintf(why, CONTROL_WHY_MAX,
                 "hello of host \"%.64s\": plan revision %" PRIu64 " is above 2^62", h->host,
                 h->plan_revision);
        return st;
    }
    if (h->host[0] != '\0' && h->incarnation != 0)
        st = labels_copy(&h->labels, labels);
    if (st == ST_OK)
        st = labels_set(labels, "host", h->host);
    if (st != ST_OK)
        snprintf(why, CONTROL_WHY_MAX,
                 "hello of host \"%.64s\": %s; it needs a host name that can be a label, and an "
                 "incarnation",
                 h->host, status_text(st));
    return st;
}

static void take_hello(struct control *c, struct agent *a, const struct hello *h,
                       struct labels *labels)
{
    if (a->incarnation != h->incarnation)
        begin_incarnation(c, a, h->incarnation);
    else
        compare_running(c, a, h);
    relabel(c, a, labels);
    memcpy(a->version, h->version, sizeof(a->version));
    memcpy(a->degraded, h->degraded, sizeof(a->degraded));
    a->cpus = h->cpus;
    /* Never behind what the agent has applied, whatever we have forgotten. */
    if (h->plan_revision > a->plan_revision)
        a->plan_revision = h->plan_revision;
    a->sent_revision = 0;
}

enum status control_hello(struct control *c, struct link *link, const struct hello *h,
                          struct mono now, struct wall wall, char why[CONTROL_WHY_MAX])
{
    struct labels labels = {0};
    struct agent *a;
    struct link *old = NULL;
    enum status st;

    control_time(c, now, wall);
    st = check_hello(h, &labels, why);
    if (st != ST_OK)
        goto out;
    st = find_or_add(c, h->host, &a);
    if (st != ST_OK) {
        snprintf(why, CONTROL_WHY_MAX, "host \"%.64s\": %s (%d agents)", h->host, status_text(st),
                 CONTROL_AGENTS_MAX);
        goto out;
    }
    old = a->link;
    take_hello(c, a, h, &labels);
    st = fleet_connect(c->fleet, a, link);
    if (st != ST_OK) {
        snprintf(why, CONTROL_WHY_MAX, "host \"%.64s\": %s", h->host, status_text(st));
        goto out;
    }
    agent_heard(a, now, wall);
    if (old != NULL && old != link) {
        c->counters.replaced++;
        tell_replaced(c, old);
    }
    c->counters.hellos++;
    keep_agent(c, a);
    send_welcome(c, link);
    steer_touch(c, a);
    steer(c);
out:
    labels_deinit(&labels);
    return st;
}

/* ---- what else agents say ---- */

void control_gone(struct control *c, struct link *link, struct mono now)
{
    struct agent *a = fleet_by_link(c->fleet, link);

    c->now = now;
    if (a == NULL)
        return;
    steer_away(c, a);
    steer(c);
}

void control_heard(struct control *c, struct link *link, struct mono now)
{
    struct agent *a = fleet_by_link(c->fleet, link);

    if (a != NULL)
        agent_heard(a, now, c->wall);
}

void control_heartbeat(struct control *c, struct link *link, const struct heartbeat *h,
                       struct mono now, struct wall wall)
{
    struct agent *a = fleet_by_link(c->fleet, link);
    struct profiler *next;

    control_time(c, now, wall);
    if (a == NULL)
        return;
    agent_heard(a, now, wall);
    agent_take_heartbeat(a, h);
    for (struct profiler *p = h->spool_chunks == 0 ? a->unfinished : NULL; p != NULL; p = next) {
        next = p->next_unfinished;
        if (!p->over || mono_since(now, p->over_since) < CONTROL_DRAINED_NS)
            continue;
        p->drained = true;
        steer_settle(c, p);
    }
    steer(c);
}

void control_plan_ack(struct control *c, struct link *link, const struct plan_ack *a)
{
    struct agent *agent = fleet_by_link(c->fleet, link);

    /* Of an older plan, of one acknowledged before, or of one that was never sent. */
    if (agent == NULL || a->revision <= agent->acked_revision || a->revision > agent->sent_revision)
        return;
    agent->acked_revision = a->revision;
    for (size_t e = 0; e < EVENT_PLACES; e++) {
        struct profiler *p = agent->slots[e].profiler;

        if (p != NULL && p->sent_revision > 0 && p->sent_revision <= a->revision &&
            profiler_take_step(p, STEP_ACCEPTED))
            tell_changed(c, p);
    }
}

static bool step_of_report(enum profiler_state state, enum profiler_step *out)
{
    switch (state) {
    case PROFILER_NONE:
        return false;
    case PROFILER_ACCEPTED:
        *out = STEP_ACCEPTED;
        return true;
    case PROFILER_ATTACHED:
        *out = STEP_ATTACHED;
        return true;
    case PROFILER_SAMPLING:
        *out = STEP_SAMPLED;
        return true;
    case PROFILER_DRAINING:
        *out = STEP_DRAINS;
        return true;
    case PROFILER_ENDED:
        *out = STEP_ENDED;
        return true;
    case PROFILER_REFUSED:
        *out = STEP_REFUSED;
        return true;
    }
    return false;
}

/* It has ended on its host. If it is still in the plan it did so by itself, and another may follow,
 * but not at once. */
static void take_end(struct control *c, struct agent *a, struct profiler *p,
                     const struct profiler_report *r)
{
    struct agent_slot *slot = &a->slots[p->record.event];

    if (p->over && p->sequence_known)
        return;
    p->sequence_known = true;
    if (r->last_sequence > p->record.last_sequence)
        p->record.last_sequence = r->last_sequence;
    keep_profiler(c, p);
    if (slot->profiler == p) {
        slot->may_begin = r->state == PROFILER_REFUSED ? mono_after(c->now, CONTROL_REFUSED_NS)
                                                       : mono_after(slot->begun, CONTROL_RETRY_NS);
        steer_touch(c, a);
    }
    steer_over(c, p);
    steer_end(c, p, c->wall, c->wall);
}

/* Cuts between characters: a text of valid UTF-8 stays one. */
static void cut_text(char *out, size_t size, const char *text)
{
    size_t length = strnlen(text, size - 1);

    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    memcpy(out, text, length);
    out[length] = '\0';
}

void control_profiler_state(struct control *c, struct link *link, const struct profiler_report *r,
                            struct wall wall)
{
    struct agent *a = fleet_by_link(c->fleet, link);
    struct profiler *p = profilers_find(c->profilers, r->profiler);
    enum profiler_step step;

    c->wall = wall;
    if (a == NULL || p == NULL || strcmp(p->record.host, a->host) != 0)
        return;
    if (!step_of_report(r->state, &step))
        return;
    if (r->period_ns > 0)
        p->period_ns = r->period_ns;
    if (r->reason[0] != '\0')
        cut_text(p->reason, sizeof(p->reason), r->reason);
    (void)profiler_take_step(p, step);
    if (step == STEP_ENDED || step == STEP_REFUSED)
        take_end(c, a, p, r);
    tell_changed(c, p);
    steer(c);
}

void control_chunk_stored(struct control *c, const char *host, const struct chunk_info *info)
{
    struct profiler *p = profilers_find(c->profilers, info->profiler);
    struct agent *a = fleet_find(c->fleet, host);
    struct ledger_row row = {.sequence = info->sequence,
                             .start = chunk_wall_start(info),
                             .end = chunk_wall_end(info),
                             .ledger = info->ledger};

    if (p == NULL || strcmp(p->record.host, host) != 0)
        return;
    if (a != NULL) {
        a->delivered += info->ledger.delivered;
        a->lost += ledger_lost(&info->ledger);
    }
    if (p->counted)
        profiler_count_chunk(p, row.sequence, row.end, info->final);
    p->period_ns = info->period_ns;
    (void)profiler_take_step(p, STEP_SAMPLED);
    if (info->final) {
        (void)profiler_take_step(p, STEP_ENDED);
        steer_over(c, p);
    }
    for (uint32_t i = 0; i < p->member_count; i++)
        if (p->members[i].session->counted)
            session_count(p->members[i].session, p->members[i].index, &row);
    tell_changed(c, p);
    steer_settle(c, p);
    steer(c);
}

struct control_counters control_read_counters(const struct control *c)
{
    struct control_counters counters = c->counters;

    counters.agents = fleet_count(c->fleet);
    counters.connected = fleet_connected(c->fleet);
    counters.sessions_live = sessions_live(c->sessions);
    return counters;
}
