/* scope - sessions give their members, spans of time give every profiler of the event that lived
 * near them; then one walk over the ledger tells what is covered. */
#include "coordinator/query/scope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"

static struct key key_of(struct id128 id)
{
    struct key key;

    memcpy(&key.high, id.bytes, sizeof(key.high));
    memcpy(&key.low, id.bytes + sizeof(key.high), sizeof(key.low));
    return key;
}

struct scope_profiler *scope_find(const struct scope *s, struct id128 profiler)
{
    uint32_t number = keys_find(&s->ids, key_of(profiler));

    return number == KEYS_NONE ? NULL : &s->profilers[number];
}

bool scope_shows(const struct scope *s, const struct scope_profiler *p)
{
    return p->matches || !s->any_matches;
}

static void deinit_profiler(struct scope_profiler *p)
{
    profiler_record_deinit(&p->record);
    spans_deinit(&p->accepted);
    spans_deinit(&p->wanted);
    spans_deinit(&p->told);
    spans_deinit(&p->covered);
}

void scope_deinit(struct scope *s)
{
    for (uint32_t i = 0; i < s->profiler_count; i++)
        deinit_profiler(&s->profilers[i]);
    free(s->profilers);
    keys_deinit(&s->ids);
    texts_deinit(&s->hosts);
    memset(s, 0, sizeof(*s));
}

/* ---- selecting ---- */

struct host_lookup {
    const struct profiler_record *record;
    const char **last; /* key asked for */
};

static const char *look_up(const void *arg, const char *key)
{
    const struct host_lookup *l = arg;

    *l->last = key;
    return strcmp(key, "host") == 0 ? l->record->host : labels_get(&l->record->labels, key);
}

/* False: not even a process on that host can match. A selector is a chain of ANDs, so the key
 * looked up last is the one that failed, and a process lives on its host whatever its labels say.
 */
static bool may_match(const struct scope *s, const struct profiler_record *r, bool *out_matches)
{
    const char *last = "";
    struct host_lookup l = {r, &last};

    *out_matches = s->select == NULL || selector_matches_by(s->select, look_up, &l);
    return *out_matches || strcmp(last, "host") != 0;
}

/* Takes the record, which is freed when the profiler cannot match or on failure. */
static enum status add_profiler(struct scope *s, struct profiler_record *record,
                                struct span accepted, struct span wanted)
{
    struct scope_profiler p = {.record = *record};
    uint32_t number;
    enum status st = ST_OK;

    if (!may_match(s, record, &p.matches))
        goto out;
    st = array_reserve(&s->profilers, &s->profiler_capacity, s->profiler_count,
                       sizeof(*s->profilers));
    if (st == ST_OK)
        st = texts_put(&s->hosts, record->host, &p.host);
    if (st == ST_OK)
        st = spans_add(&p.accepted, accepted.from, accepted.to);
    if (st == ST_OK)
        st = spans_add(&p.wanted, wanted.from, wanted.to);
    if (st == ST_OK)
        st = keys_put(&s->ids, key_of(record->id), &number);
    if (st != ST_OK)
        goto out;
    s->profilers[s->profiler_count++] = p;
    s->any_matches |= p.matches;
    return ST_OK;
out:
    deinit_profiler(&p);
    return st;
}

/* ---- a session ---- */

static enum status add_member(struct scope *s, struct store_view *v,
                              const struct session_record *session, const struct session_member *m)
{
    struct scope_profiler *p = scope_find(s, m->profiler);
    struct span span = {m->from.ns, m->to.ns > 0 ? m->to.ns : session->ends.ns};
    struct profiler_record record;
    enum status st;

    s->from.ns = span.from < s->from.ns ? span.from : s->from.ns;
    s->to.ns = span.to > s->to.ns ? span.to : s->to.ns;
    if (p != NULL) {
        st = spans_add(&p->accepted, span.from, span.to);
        return st == ST_OK ? spans_add(&p->wanted, span.from, span.to) : st;
    }
    st = profiler_record_load(v, m->profiler, &record);
    if (st == ST_OK)
        return add_profiler(s, &record, span, span);
    return st == ST_NOT_FOUND ? ST_OK : st; /* it never reached its host, so it has no samples */
}

static enum status add_members(struct scope *s, struct store_view *v,
                               const struct session_record *session)
{
    enum status st = ST_OK;

    s->from.ns = UINT64_MAX;
    for (uint32_t i = 0; i < session->member_count && st == ST_OK; i++)
        st = add_member(s, v, session, &session->members[i]);
    if (s->from.ns == UINT64_MAX) {
        s->from = session->created;
        s->to = session->ends;
    }
    return st;
}

static enum status resolve_session(struct scope *s, struct store_view *v, const struct window *w,
                                   bool *out_live, char why[WINDOW_WHY_MAX])
{
    struct session_record session;
    char text[SESSION_ID_TEXT_MAX];
    enum status st = session_record_load(v, w->session, &session);

    session_id_format(w->session, text);
    if (st != ST_OK) {
        snprintf(why, WINDOW_WHY_MAX,
                 st == ST_NOT_FOUND ? "there is no session %s" : "session %s could not be read",
                 text);
        return st;
    }
    if (w->event != EVENT_NONE && w->event != session.event) {
        snprintf(why, WINDOW_WHY_MAX, "session %s sampled %s, not %s", text,
                 event_name(session.event), event_name(w->event));
        st = ST_INVALID;
    } else {
        s->event = session.event;
        *out_live = session.state == SESSION_RUNNING || session.state == SESSION_DRAINING;
        st = add_members(s, v, &session);
    }
    session_record_deinit(&session);
    return st;
}

/* ---- a span of time ---- */

static enum status visit_profiler(void *arg, struct slice key, struct slice value)
{
    struct scope *s = arg;
    struct span window = {s->from.ns, s->to.ns}, life;
    struct profiler_record r;
    enum status st = profiler_record_decode(value, &r);

    (void)key;
    if (st != ST_OK)
        return st;
    life = (struct span){r.assigned.ns, r.ended.ns > 0 ? r.ended.ns : UINT64_MAX};
    /* The last chunk may end a little after the profiler is known to have ended. */
    if (r.event == s->event && life.from < window.to &&
        (r.ended.ns == 0 || life.to + CHUNK_WINDOW_MAX_NS > window.from))
        return add_profiler(s, &r, window,
                            (struct span){life.from > window.from ? life.from : window.from,
                                          life.to < window.to ? life.to : window.to});
    profiler_record_deinit(&r);
    return ST_OK;
}

static enum status resolve_span(struct scope *s, struct store_view *v, const struct window *w,
                                char why[WINDOW_WHY_MAX])
{
    enum status st;

    s->event = w->event == EVENT_NONE ? EVENT_CPU : w->event;
    s->from = w->from;
    s->to = w->to;
    st = store_view_each(v, STORE_PROFILERS, visit_profiler, s);
    if (st != ST_OK)
        snprintf(why, WINDOW_WHY_MAX, "the profilers could not be read: %s", status_text(st));
    return st;
}

/* ---- both ---- */

static enum status visit_row(void *arg, const struct ledger_row *row)
{
    struct scope_profiler *p = scope_find(arg, row->profiler);

    enum status st = p == NULL ? ST_OK : spans_add(&p->told, row->start.ns, row->end.ns);

    /* No sample is left to stand for what was lost. */
    if (p == NULL || st != ST_OK || (row->ledger.delivered == 0 && ledger_lost(&row->ledger) > 0))
        return st;
    return spans_add(&p->covered, row->start.ns, row->end.ns);
}

/* Keeps of `s` what `mask` has. */
static enum status keep(struct spans *s, const struct spans *mask)
{
    struct spans kept;
    enum status st = spans_intersect(s, mask, &kept);

    if (st != ST_OK)
        return st;
    spans_deinit(s);
    *s = kept;
    return ST_OK;
}

/* What a session that still runs wants ends, for now, with its last chunk. */
static enum status cut_wanted(struct scope *s)
{
    struct span life = {0};
    struct spans mask = {.items = &life, .count = 1};
    enum status st = ST_OK;

    for (uint32_t i = 0; i < s->profiler_count; i++) {
        const struct spans *told = &s->profilers[i].told;

        if (told->count > 0 && told->items[told->count - 1].to > life.to)
            life.to = told->items[told->count - 1].to;
    }
    for (uint32_t i = 0; i < s->profiler_count && st == ST_OK; i++)
        st = keep(&s->profilers[i].wanted, &mask);
    return st;
}

static enum status cover(struct scope *s, struct store_view *v)
{
    enum status st = store_view_ledger(v, s->from, s->to, visit_row, s);

    for (uint32_t i = 0; i < s->profiler_count && st == ST_OK; i++) {
        struct scope_profiler *p = &s->profilers[i];

        spans_merge(&p->accepted);
        spans_merge(&p->wanted);
        spans_merge(&p->told);
        spans_merge(&p->covered);
        st = keep(&p->told, &p->accepted);
        if (st == ST_OK)
            st = keep(&p->covered, &p->accepted);
    }
    return st;
}

enum status scope_resolve(struct store_view *v, const struct window *w, struct scope *out,
                          char why[WINDOW_WHY_MAX])
{
    struct scope s = {.select = w->select};
    bool live = false;
    enum status st =
        w->by_session ? resolve_session(&s, v, w, &live, why) : resolve_span(&s, v, w, why);

    if (st != ST_OK)
        goto out;
    st = cover(&s, v);
    if (st == ST_OK && live)
        st = cut_wanted(&s);
    if (st != ST_OK) {
        snprintf(why, WINDOW_WHY_MAX, "the ledger could not be read: %s", status_text(st));
        goto out;
    }
    *out = s;
    return ST_OK;
out:
    scope_deinit(&s);
    return st;
}
