/* sessions - see sessions.h. The table is an array in the order of creation; lookups go through a
 * balanced tree (tsearch(3)), as do a session's hosts by name. */
#include "coordinator/control/sessions.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct sessions {
    struct session **items; /* oldest first */
    uint32_t count, capacity;
    void *by_id;
};

static int compare_ids(const void *a, const void *b)
{
    const struct session *x = a, *y = b;

    return (x->record.id > y->record.id) - (x->record.id < y->record.id);
}

static int compare_hosts(const void *a, const void *b)
{
    const struct session_host *x = a, *y = b;

    return strcmp(x->host, y->host);
}

static void free_nothing(void *node)
{
    (void)node;
}

static void session_free(struct session *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; s->runs != NULL && i < s->record.member_count; i++)
        if (s->runs[i].profiler != NULL)
            profiler_leave(s->runs[i].profiler, s);
    tdestroy(s->hosts_by_name, free_nothing);
    for (uint32_t i = 0; i < s->host_count; i++)
        free(s->hosts[i]);
    free(s->hosts);
    free(s->runs);
    selector_free(s->selector);
    session_record_deinit(&s->record);
    free(s);
}

/* ---- the table ---- */

enum status sessions_new(struct sessions **out)
{
    struct sessions *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return ST_NOMEM;
    *out = t;
    return ST_OK;
}

void sessions_free(struct sessions *t)
{
    if (t == NULL)
        return;
    tdestroy(t->by_id, free_nothing);
    for (uint32_t i = 0; i < t->count; i++)
        session_free(t->items[i]);
    free(t->items);
    free(t);
}

static enum status make_room(struct sessions *t)
{
    uint32_t capacity = t->capacity > 0 ? 2 * t->capacity : 16;
    struct session **items;

    if (t->count < t->capacity)
        return ST_OK;
    items = realloc(t->items, capacity * sizeof(struct session *));
    if (items == NULL)
        return ST_NOMEM;
    t->items = items;
    t->capacity = capacity;
    return ST_OK;
}

/* Keeps the array in the order of creation, whatever order the store's keys come in. */
static void insert_by_age(struct sessions *t, struct session *s)
{
    uint32_t at = t->count++;

    while (at > 0 && t->items[at - 1]->record.created.ns > s->record.created.ns) {
        t->items[at] = t->items[at - 1];
        at--;
    }
    t->items[at] = s;
}

enum status sessions_add_take(struct sessions *t, struct session_record *record,
                              struct session **out, char why[SELECTOR_WHY_MAX])
{
    struct session *s = calloc(1, sizeof(*s));
    struct session **node;
    enum status st = ST_NOMEM;

    why[0] = '\0';
    if (s == NULL)
        goto out;
    s->runs = calloc(record->member_count + 1, sizeof(*s->runs));
    if (s->runs == NULL || make_room(t) != ST_OK)
        goto out;
    st = selector_parse(record->selector, &s->selector, why);
    if (st != ST_OK)
        goto out;
    s->record.id = record->id;
    st = ST_NOMEM;
    node = tsearch(s, &t->by_id, compare_ids);
    if (node == NULL)
        goto out;
    st = ST_EXISTS;
    if (*node != s)
        goto out;

    s->record = *record;
    *record = (struct session_record){0};
    insert_by_age(t, s);
    *out = s;
    s = NULL;
    st = ST_OK;
out:
    session_free(s);
    return st;
}

struct session *sessions_find(const struct sessions *t, uint64_t id)
{
    struct session key = {.record.id = id};
    struct session **node = tfind(&key, &t->by_id, compare_ids);

    return node != NULL ? *node : NULL;
}

void sessions_drop(struct sessions *t, struct session *s)
{
    uint32_t at = 0;

    while (at < t->count && t->items[at] != s)
        at++;
    if (at == t->count)
        return;
    memmove(&t->items[at], &t->items[at + 1], (t->count - at - 1) * sizeof(struct session *));
    t->count--;
    tdelete(s, &t->by_id, compare_ids);
    session_free(s);
}

uint32_t sessions_count(const struct sessions *t)
{
    return t->count;
}

struct session *sessions_at(const struct sessions *t, uint32_t index)
{
    return t->items[index];
}

uint32_t sessions_live(const struct sessions *t)
{
    uint32_t live = 0;

    for (uint32_t i = 0; i < t->count; i++)
        live += session_is_live(t->items[i]);
    return live;
}

void sessions_trim(struct sessions *t, uint32_t keep)
{
    uint32_t ended = t->count - sessions_live(t);

    for (uint32_t i = 0; i < t->count && ended > keep;) {
        if (session_is_live(t->items[i]) || t->items[i]->dirty) {
            i++;
            continue;
        }
        sessions_drop(t, t->items[i]);
        ended--;
    }
}

/* ---- one session ---- */

/* SESSION_NONE, zero, is "no such edge". */
static const enum session_state next[SESSION_STOPPED + 1][SESSION_EVENTS] = {
    [SESSION_RUNNING] = {[SESSION_EVENT_OVER] = SESSION_DRAINING},
    [SESSION_DRAINING] =
        {[SESSION_EVENT_COMPLETE] = SESSION_COMPLETED, [SESSION_EVENT_STOP] = SESSION_STOPPED},
};

enum status session_handle(struct session *s, enum session_event event)
{
    enum session_state to = next[s->record.state][event];

    if (to == SESSION_NONE)
        return ST_BAD_STATE;
    s->record.state = to;
    return ST_OK;
}

bool session_is_live(const struct session *s)
{
    return s->record.state == SESSION_RUNNING || s->record.state == SESSION_DRAINING;
}

bool session_is_wanting(const struct session *s, struct wall now)
{
    return s->durable && s->record.state == SESSION_RUNNING && now.ns < s->record.ends.ns;
}

static enum status find_or_add_host(struct session *s, const char *name, struct session_host **out)
{
    struct session_host *host = calloc(1, sizeof(*host));
    struct session_host **hosts, **node;

    if (host == NULL)
        return ST_NOMEM;
    memcpy(host->host, name, strnlen(name, MESSAGE_HOST_MAX));
    node = tfind(host, &s->hosts_by_name, compare_hosts);
    if (node != NULL) {
        free(host);
        *out = *node;
        return ST_OK;
    }
    hosts = realloc(s->hosts, (s->host_count + 1) * sizeof(struct session_host *));
    if (hosts != NULL)
        s->hosts = hosts;
    if (hosts == NULL || tsearch(host, &s->hosts_by_name, compare_hosts) == NULL) {
        free(host);
        return ST_NOMEM;
    }
    s->hosts[s->host_count++] = host;
    *out = host;
    return ST_OK;
}

enum status session_attach_member(struct session *s, uint32_t index, struct profiler *p)
{
    struct session_run *run = &s->runs[index];
    enum status st;

    run->settled = p == NULL || !session_is_live(s);
    if (p == NULL)
        return ST_OK;
    st = find_or_add_host(s, p->record.host, &run->host);
    if (st == ST_OK)
        st = profiler_join(p, s, index);
    if (st != ST_OK)
        return st;
    run->profiler = p;
    run->host->latest = index;
    s->unsettled += !run->settled;
    return ST_OK;
}

static struct session_member *open_member(struct session *s, const struct profiler *p)
{
    for (uint32_t i = 0; i < p->member_count; i++) {
        struct session_member *m;

        if (p->members[i].session != s)
            continue;
        m = &s->record.members[p->members[i].index];
        if (m->to.ns == 0)
            return m;
    }
    return NULL;
}

static enum status grow_members(struct session *s)
{
    size_t count = s->record.member_count + 1;
    struct session_member *members = realloc(s->record.members, count * sizeof(*members));
    struct session_run *runs;

    if (members == NULL)
        return ST_NOMEM;
    s->record.members = members;
    runs = realloc(s->runs, count * sizeof(*runs));
    if (runs == NULL)
        return ST_NOMEM;
    s->runs = runs;
    return ST_OK;
}

enum status session_open_member(struct session *s, struct profiler *p, struct wall from)
{
    uint32_t index = s->record.member_count;
    enum status st;

    if (open_member(s, p) != NULL)
        return ST_OK;
    st = grow_members(s);
    if (st != ST_OK)
        return st;
    s->record.members[index] = (struct session_member){.profiler = p->record.id, .from = from};
    s->runs[index] = (struct session_run){0};
    st = session_attach_member(s, index, p);
    if (st == ST_OK)
        s->record.member_count++;
    return st;
}

/* Within the session and after its own beginning, whoever closes it how late. */
static void close_member(const struct session *s, struct session_member *m, struct wall to)
{
    if (to.ns > s->record.ends.ns)
        to = s->record.ends;
    m->to = to.ns > m->from.ns ? to : m->from;
}

bool session_close_member(struct session *s, const struct profiler *p, struct wall to)
{
    struct session_member *m = open_member(s, p);

    if (m == NULL)
        return false;
    close_member(s, m, to);
    return true;
}

void session_close_all(struct session *s, struct wall to)
{
    for (uint32_t i = 0; i < s->record.member_count; i++) {
        struct session_member *m = &s->record.members[i];

        if (m->to.ns == 0)
            close_member(s, m, to);
    }
}

bool session_settle(struct session *s, uint32_t index, bool given_up)
{
    struct session_run *run = &s->runs[index];
    struct wall to = s->record.members[index].to;

    if (run->settled || to.ns == 0)
        return false;
    if (!given_up && !profiler_settled(run->profiler, to))
        return false;
    run->settled = true;
    s->unsettled--;
    return true;
}

/* `part` of `whole` of a count, to the nearest. In double: counts are far below 2^53. */
static uint64_t share_of(uint64_t count, uint64_t part, uint64_t whole)
{
    if (whole == 0 || part >= whole)
        return count;
    return (uint64_t)((double)count * (double)part / (double)whole + 0.5);
}

void session_count(struct session *s, uint32_t index, const struct ledger_row *row)
{
    const struct session_member *m = &s->record.members[index];
    struct session_host *host = s->runs[index].host;
    uint64_t to = m->to.ns > 0 ? m->to.ns : s->record.ends.ns;
    uint64_t first = row->start.ns > m->from.ns ? row->start.ns : m->from.ns;
    uint64_t last = row->end.ns < to ? row->end.ns : to;
    uint64_t samples, lost;

    if (host == NULL || last <= first)
        return;
    samples = share_of(row->ledger.delivered, last - first, row->end.ns - row->start.ns);
    lost = share_of(ledger_lost(&row->ledger), last - first, row->end.ns - row->start.ns);
    host->samples += samples;
    host->lost += lost;
    host->chunks++;
    s->samples += samples;
    s->lost += lost;
    s->chunks++;
}
