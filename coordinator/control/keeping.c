/* keeping - the control plane's records on their way to the journal. See control_state.h. */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "coordinator/control/agent_record.h"
#include "coordinator/control/control_state.h"

struct waiter {
    struct waiter *next;
    uint64_t session;
    uint64_t batch;
    bool begins;
    control_done *done;
    void *arg;
};

void keep_agent(struct control *c, struct agent *a)
{
    if (a->dirty)
        return;
    a->dirty = true;
    a->next_dirty = c->dirty_agents;
    c->dirty_agents = a;
}

void keep_session(struct control *c, struct session *s)
{
    if (s->dirty)
        return;
    s->dirty = true;
    s->next_dirty = c->dirty_sessions;
    c->dirty_sessions = s;
}

void keep_profiler(struct control *c, struct profiler *p)
{
    if (p->dirty)
        return;
    p->dirty = true;
    p->next_dirty = c->dirty_profilers;
    c->dirty_profilers = p;
}

void unkeep_agent(struct control *c, struct agent *a)
{
    struct agent **at = &c->dirty_agents;

    while (*at != NULL && *at != a)
        at = &(*at)->next_dirty;
    if (*at != NULL)
        *at = (*at)->next_dirty;
    a->dirty = false;
}

void unkeep_session(struct control *c, struct session *s)
{
    struct session **at = &c->dirty_sessions;

    while (*at != NULL && *at != s)
        at = &(*at)->next_dirty;
    if (*at != NULL)
        *at = (*at)->next_dirty;
    s->dirty = false;
}

/* ---- into the journal ---- */

static struct slice text_key(const char *text)
{
    return (struct slice){(const uint8_t *)text, strlen(text)};
}

static struct slice session_key(uint64_t id, uint8_t bytes[SESSION_ID_BYTES])
{
    for (unsigned i = 0; i < SESSION_ID_BYTES; i++)
        bytes[i] = (uint8_t)(id >> (56 - 8 * i));
    return (struct slice){bytes, SESSION_ID_BYTES};
}

void keeping_forget_agent(struct control *c, const char *host)
{
    enum status st = journal_delete(c->journal, STORE_AGENTS, text_key(host));

    if (st != ST_OK)
        log_warn("event=agent_record_kept host=%s why=\"%s\"", host, status_text(st));
}

static bool put(struct control *c, enum store_table table, struct slice key, enum status encoded)
{
    enum status st = encoded;

    if (st == ST_OK)
        st = journal_put(c->journal, table, key, wire_writer_bytes(c->writer));
    if (st != ST_OK)
        log_error("event=record_not_kept table=%d why=\"%s\"", (int)table, status_text(st));
    return st == ST_OK;
}

static void put_all(struct control *c)
{
    for (struct session *s; (s = c->dirty_sessions) != NULL;) {
        uint8_t key[SESSION_ID_BYTES];

        c->dirty_sessions = s->next_dirty;
        s->dirty = false;
        put(c, STORE_SESSIONS, session_key(s->record.id, key),
            session_record_encode(&s->record, c->writer));
    }
    for (struct profiler *p; (p = c->dirty_profilers) != NULL;) {
        struct slice key = {p->record.id.bytes, ID128_BYTES};

        c->dirty_profilers = p->next_dirty;
        p->dirty = false;
        if (put(c, STORE_PROFILERS, key, profiler_record_encode(&p->record, c->writer)) &&
            p->batch == PROFILER_NO_BATCH)
            p->batch = journal_open_batch(c->journal);
    }
    for (struct agent *a; (a = c->dirty_agents) != NULL;) {
        c->dirty_agents = a->next_dirty;
        a->dirty = false;
        put(c, STORE_AGENTS, text_key(a->host), agent_record_encode(a, c->writer));
    }
}

void keeping_flush(struct control *c)
{
    if (journal_is_busy(c->journal))
        return;
    put_all(c);
    journal_submit(c->journal);
}

/* ---- commands that wait ---- */

enum status keeping_wait(struct control *c, uint64_t session, bool begins, control_done *done,
                         void *arg)
{
    struct waiter *w = calloc(1, sizeof(*w));
    struct waiter **last = &c->waiters;

    if (w == NULL)
        return ST_NOMEM;
    *w = (struct waiter){.session = session,
                         .batch = journal_open_batch(c->journal),
                         .begins = begins,
                         .done = done,
                         .arg = arg};
    while (*last != NULL)
        last = &(*last)->next;
    *last = w;
    return ST_OK;
}

static void begin_or_vanish(struct control *c, uint64_t id, enum status st)
{
    struct session *s = sessions_find(c->sessions, id);
    uint8_t key[SESSION_ID_BYTES];

    if (s == NULL)
        return;
    if (st == ST_OK) {
        s->durable = true;
        steer_touch_matching(c, s);
        return;
    }
    journal_withdraw(c->journal, STORE_SESSIONS, session_key(id, key));
    unkeep_session(c, s);
    sessions_drop(c->sessions, s);
}

static void answer_waiters(struct control *c, uint64_t batch, enum status st)
{
    while (c->waiters != NULL && c->waiters->batch <= batch) {
        struct waiter *w = c->waiters;

        c->waiters = w->next;
        if (w->begins)
            begin_or_vanish(c, w->session, st);
        if (w->done != NULL)
            w->done(w->arg, st, w->session);
        free(w);
    }
}

void keeping_written(void *control, uint64_t batch, enum status st)
{
    struct control *c = control;

    if (st == ST_OK)
        c->durable_batch = batch;
    if (c->failing != (st != ST_OK)) {
        c->failing = st != ST_OK;
        if (c->failing)
            log_error("event=control_not_durable why=\"%s\" action=retry", status_text(st));
        else
            log_info("event=control_durable_again");
    }
    /* What waits behind a failed batch fails with it: nobody is left hanging on a full disk. */
    answer_waiters(c, st == ST_OK ? batch : UINT64_MAX, st);
    steer(c);
}

void keeping_free(struct control *c)
{
    while (c->waiters != NULL) {
        struct waiter *w = c->waiters;

        c->waiters = w->next;
        free(w);
    }
}
