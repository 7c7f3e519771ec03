#include "coordinator/http/view_sessions.h"

#include <stdlib.h>

#include "coordinator/http/call.h"
#include "coordinator/http/params.h"
#include "coordinator/http/session_events.h"

enum { SESSIONS_LISTED = 100 }; /* unless `limit` says otherwise: each has all its hosts */

static json_t *view_host(const struct session_host_view *h)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "host", json_text(h->host), "state",
                     host_state_name(h->state), "reason", json_text(h->reason), "profiler",
                     json_id128(h->profiler), "samples", json_u64(h->samples), "lost",
                     json_u64(h->lost), "chunks", json_u64(h->chunks));
}

static json_t *view_hosts(const struct session_view *v)
{
    json_t *hosts = json_array();

    for (uint32_t i = 0; hosts != NULL && i < v->hosts; i++)
        if (json_array_append_new(hosts, view_host(&v->host_views[i])) != 0) {
            json_decref(hosts);
            return NULL;
        }
    return hosts;
}

/* How many hosts are in each state; states without any are left out. */
static json_t *view_states(const struct session_view *v)
{
    json_t *states = json_object();

    for (unsigned i = 0; states != NULL && i < HOST_STATES; i++)
        if (v->by_state[i] > 0 && json_object_set_new(states, host_state_name((enum host_state)i),
                                                      json_u64(v->by_state[i])) != 0) {
            json_decref(states);
            return NULL;
        }
    return states;
}

json_t *view_session(const struct session_view *v)
{
    const struct session_record *r = v->record;
    char id[SESSION_ID_TEXT_MAX];

    return json_pack(
        "{s:s, s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "id",
        session_id_format(r->id, id), "selector", json_text(r->selector == NULL ? "" : r->selector),
        "event", event_name(r->event), "hz", (json_int_t)r->hz, "owner", json_text(r->owner),
        "note", json_text(r->note), "created", json_time(r->created), "ends", json_time(r->ends),
        "state", session_state_name(r->state), "hosts", view_hosts(v), "states", view_states(v),
        "samples", json_u64(v->samples), "lost", json_u64(v->lost), "chunks", json_u64(v->chunks));
}

/* ---- the list, newest first ---- */

struct dated {
    uint64_t created_ns;
    uint64_t id; /* ties: by id, so that the order is the same each time */
};

struct collected {
    struct dated *items;
    size_t count, capacity;
    bool failed; /* out of memory */
};

static void collect(void *arg, const struct session_view *v)
{
    struct collected *all = arg;

    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 64 : all->capacity * 2;
        struct dated *items = realloc(all->items, capacity * sizeof(*items));

        if (items == NULL) {
            all->failed = true;
            return;
        }
        all->items = items;
        all->capacity = capacity;
    }
    all->items[all->count++] = (struct dated){v->record->created.ns, v->record->id};
}

static int by_age(const void *a, const void *b)
{
    const struct dated *x = a, *y = b;

    if (x->created_ns != y->created_ns)
        return x->created_ns < y->created_ns ? 1 : -1;
    return x->id < y->id ? 1 : x->id > y->id ? -1 : 0;
}

/* The first `count` of the collected ones. */
static json_t *view_list(struct control *control, const struct collected *all, size_t count)
{
    json_t *list = json_array();
    struct session_view view;

    for (size_t i = 0; list != NULL && i < count; i++)
        if (control_session(control, all->items[i].id, &view) == ST_OK &&
            json_array_append_new(list, view_session(&view)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

void route_sessions(struct call *c)
{
    struct collected all = {0};
    uint32_t limit = SESSIONS_LISTED;
    json_t *list = NULL;

    if (!params_limit(c, &limit))
        return;
    control_each_session(c->api->options.control, collect, &all);
    if (all.count > 0)
        qsort(all.items, all.count, sizeof(*all.items), by_age);
    if (!all.failed)
        list = view_list(c->api->options.control, &all,
                         limit == 0 || limit > all.count ? all.count : limit);
    free(all.items);
    call_answer(c, 200, json_pack("{s:o, s:I}", "sessions", list, "total", (json_int_t)all.count));
}

/* ---- one ---- */

static bool find(struct call *c, struct session_view *out)
{
    char id[SESSION_ID_TEXT_MAX];
    enum status st = control_session(c->api->options.control, c->session, out);

    if (st == ST_OK)
        return true;
    call_fail(c, st, "session %s: %s", session_id_format(c->session, id), status_text(st));
    return false;
}

void route_session(struct call *c)
{
    struct session_view view;

    if (find(c, &view))
        call_answer(c, 200, view_session(&view));
}

void route_session_events(struct call *c)
{
    struct session_view view;
    enum status st;

    if (!find(c, &view))
        return;
    st = session_events_add(c->api->events, c->request, c->session);
    if (st == ST_FULL)
        call_fail(c, st, "%d streams are open, which is the limit", HTTP_STREAMS_MAX);
    else if (st != ST_OK)
        call_fail(c, st, "%s", status_text(st));
}
