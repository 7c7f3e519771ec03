#include "coordinator/http/session_events.h"

#include <stdlib.h>
#include <uv.h>

#include "coordinator/http/json.h"
#include "coordinator/http/view_sessions.h"

struct stream {
    struct session_events *events;
    struct stream *previous, *next;
    struct http_request *request;
    uint64_t session;
    bool changed; /* and not yet sent */
    bool ended;
};

struct session_events {
    struct control *control;
    struct stream *streams;
    uv_timer_t timer;
    uint64_t next_ms; /* loop time before which nothing is sent */
    bool stopping;
    void (*stopped)(void *arg);
    void *stopped_arg;
};

static void end(struct stream *s)
{
    s->ended = true;
    http_stream_end(s->request);
}

static bool is_over(const struct session_view *v)
{
    return v->record->state == SESSION_COMPLETED || v->record->state == SESSION_STOPPED;
}

/* A reader that has no room keeps its mark and is tried again. */
static void send_state(struct stream *s)
{
    struct session_view view;
    char *text;
    size_t length;

    if (control_session(s->events->control, s->session, &view) != ST_OK) {
        end(s); /* forgotten by control: too old to be watched */
        return;
    }
    if (json_finish(view_session(&view), &text, &length) != ST_OK)
        return;
    text[length - 1] = '\0'; /* an event is one line */
    if (http_stream_send(s->request, "session", text) == ST_OK) {
        s->changed = false;
        if (is_over(&view))
            end(s);
    }
    free(text);
}

static void on_timer(uv_timer_t *t);

static void schedule(struct session_events *e)
{
    uint64_t now = uv_now(e->timer.loop);

    if (!e->stopping && !uv_is_active((uv_handle_t *)&e->timer))
        uv_timer_start(&e->timer, on_timer, e->next_ms > now ? e->next_ms - now : 0, 0);
}

/* Sends what is marked; true: something has to be tried again. */
static bool send_marked(struct session_events *e)
{
    bool again = false;

    for (struct stream *s = e->streams; s != NULL; s = s->next) {
        if (s->changed && !s->ended)
            send_state(s);
        again = again || (s->changed && !s->ended);
    }
    return again;
}

static void on_timer(uv_timer_t *t)
{
    struct session_events *e = t->data;
    uint64_t began_ns = uv_hrtime(), took_ms;
    bool again = send_marked(e);

    took_ms = (uv_hrtime() - began_ns) / NS_PER_MS;
    e->next_ms = uv_now(t->loop) + took_ms +
                 (took_ms * SESSION_EVENTS_REST > SESSION_EVENTS_MS ? took_ms * SESSION_EVENTS_REST
                                                                    : SESSION_EVENTS_MS);
    if (again)
        schedule(e);
}

static void on_gone(void *arg)
{
    struct stream *s = arg;
    struct session_events *e = s->events;

    if (s->next != NULL)
        s->next->previous = s->previous;
    if (s->previous != NULL)
        s->previous->next = s->next;
    else
        e->streams = s->next;
    free(s);
}

enum status session_events_add(struct session_events *e, struct http_request *r, uint64_t session)
{
    struct stream *s = calloc(1, sizeof(*s));
    enum status st;

    if (s == NULL)
        return ST_NOMEM;
    *s = (struct stream){.events = e, .request = r, .session = session, .next = e->streams};
    st = http_stream_begin(r, on_gone, s);
    if (st != ST_OK) {
        free(s);
        return st;
    }
    if (s->next != NULL)
        s->next->previous = s;
    e->streams = s;
    s->changed = true;
    send_state(s);
    if (s->changed && !s->ended)
        schedule(e);
    return ST_OK;
}

void session_events_changed(struct session_events *e, uint64_t session)
{
    bool any = false;

    if (e->stopping)
        return;
    for (struct stream *s = e->streams; s != NULL; s = s->next) {
        if (s->session != session)
            continue;
        s->changed = true;
        any = true;
    }
    if (any)
        schedule(e);
}

enum status session_events_new(struct uv_loop_s *loop, struct control *control,
                               struct session_events **out)
{
    struct session_events *e = calloc(1, sizeof(*e));

    if (e == NULL)
        return ST_NOMEM;
    e->control = control;
    (void)uv_timer_init(loop, &e->timer); /* cannot fail */
    e->timer.data = e;
    *out = e;
    return ST_OK;
}

static void on_timer_closed(uv_handle_t *h)
{
    struct session_events *e = h->data;

    e->stopped(e->stopped_arg);
}

void session_events_stop(struct session_events *e, void (*stopped)(void *arg), void *arg)
{
    e->stopping = true;
    e->stopped = stopped;
    e->stopped_arg = arg;
    for (struct stream *s = e->streams; s != NULL; s = s->next)
        end(s);
    uv_close((uv_handle_t *)&e->timer, on_timer_closed);
}

void session_events_free(struct session_events *e)
{
    free(e);
}
