#include "coordinator/http/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "coordinator/http/acceptor.h"
#include "coordinator/http/endpoint.h"
#include "coordinator/http/guard.h"

enum { LISTENERS_MAX = 2 };

/* The loop watches the acceptor's descriptor and keeps its deadline. */
struct listener {
    struct http_server *server;
    struct endpoint endpoint;
    struct acceptor *acceptor;
    uv_poll_t poll;
    uv_timer_t timer;
};

struct http_server {
    struct http_options options; /* its texts are not kept */
    struct listener listeners[LISTENERS_MAX];
    unsigned listener_count;
    uv_timer_t comments; /* while open: comments on silent streams; while closing: the deadline */
    unsigned handles; /* open ones; the last close callback frees the server */
    struct http_counters counters;
    bool closing, drained, stopped;
    void (*closed)(void *arg);
    void *closed_arg;
};

/* ---- the loop's side ---- */

static void finish_when_quiet(struct http_server *s);

static void on_timer(uv_timer_t *t);

static void run(struct listener *l)
{
    uint64_t ms;

    if (acceptor_run(l->acceptor, &ms))
        uv_timer_start(&l->timer, on_timer, ms, 0);
    else
        uv_timer_stop(&l->timer);
    finish_when_quiet(l->server);
}

static void on_timer(uv_timer_t *t)
{
    run(t->data);
}

static void on_poll(uv_poll_t *p, int status, int events)
{
    (void)status; /* an error shows in the connections, too */
    (void)events;
    run(p->data);
}

static void on_wake(void *arg)
{
    struct listener *l = arg;

    uv_timer_start(&l->timer, on_timer, 0, 0);
}

static void on_comment_time(uv_timer_t *t)
{
    struct http_server *s = t->data;

    for (unsigned i = 0; i < s->listener_count; i++)
        acceptor_comment(s->listeners[i].acceptor);
}

/* ---- policy ---- */

/* The server's own refusals; in the form of the API's errors. The texts need no escaping. */
static void refuse(struct http_request *r, unsigned code, const char *name, const char *message)
{
    char body[512];
    int length = snprintf(body, sizeof(body), "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
                          name, message);

    http_answer(r, code, "application/json", (struct slice){(const uint8_t *)body, (size_t)length});
}

static bool is_clean_value(void *arg, const char *name, const char *value)
{
    bool *clean = arg;

    *clean = guard_text_is_clean(name) && guard_text_is_clean(value);
    return *clean;
}

static bool comes_from_elsewhere(const struct listener *l, const struct http_request *r)
{
    const char *host = http_header(r, "Host"), *origin = http_header(r, "Origin");

    if (l->endpoint.path != NULL)
        return false; /* no browser speaks to a UNIX socket */
    if (host == NULL || !guard_host_is_local(host))
        return true;
    return origin != NULL && !guard_origin_is_ours(origin, host);
}

/* What the header alone decides; leaves the request unanswered when it may go on. */
static void on_header(void *arg, struct http_request *r)
{
    struct listener *l = arg;
    struct http_counters *counters = &l->server->counters;
    const char *length = http_header(r, "Content-Length");
    bool clean = guard_path_is_clean(http_path(r));

    if (clean)
        http_each_query(r, is_clean_value, &clean);
    if (comes_from_elsewhere(l, r)) {
        counters->refused_site++;
        refuse(r, 403, "denied",
               "only requests for localhost, 127.0.0.1 or [::1] from its own pages are served");
    } else if (!clean) {
        counters->refused_path++;
        refuse(r, 400, "invalid",
               "the path must be absolute and without .. segments, and neither path nor query may "
               "hold control characters or broken escapes");
    } else if (length != NULL && strtoull(length, NULL, 10) > HTTP_DISCARD_MAX) {
        counters->refused_body++;
        refuse(r, 413, "too_big", "a body has at most 1048576 bytes");
    }
}

static void on_body(void *arg, struct http_request *r)
{
    struct listener *l = arg;
    struct http_server *s = l->server;

    if (acceptor_body_seen(r) > HTTP_BODY_MAX) {
        s->counters.refused_body++;
        refuse(r, 413, "too_big", "a body has at most 1048576 bytes");
    } else if (s->closing) {
        refuse(r, 503, "unavailable", "the server is shutting down");
    } else {
        s->options.handle(s->options.arg, r);
    }
}

struct http_counters http_read_counters(const struct http_request *r)
{
    const struct listener *l = acceptor_of(r);
    struct http_counters counters = l->server->counters;

    for (unsigned i = 0; i < l->server->listener_count; i++)
        counters.connections += acceptor_connections(l->server->listeners[i].acceptor);
    return counters;
}

/* ---- start and stop ---- */

static void on_handle_closed(uv_handle_t *h)
{
    struct http_server *s = h->data;

    if (--s->handles > 0)
        return;
    if (s->closed != NULL)
        s->closed(s->closed_arg);
    free(s);
}

static void close_handle(struct http_server *s, uv_handle_t *h)
{
    if (h->type == UV_UNKNOWN_HANDLE)
        return; /* never opened */
    h->data = s;
    uv_close(h, on_handle_closed);
}

/* Nothing may be unanswered. Frees the server in the
 * last handle's close callback. Accepts a half-built one. */
static void dispose(struct http_server *s)
{
    s->stopped = true;
    for (unsigned i = 0; i < s->listener_count; i++) {
        struct listener *l = &s->listeners[i];

        if (l->poll.type != UV_UNKNOWN_HANDLE)
            uv_poll_stop(&l->poll); /* before its descriptor goes */
        acceptor_stop(l->acceptor);
        endpoint_close(&l->endpoint);
        close_handle(s, (uv_handle_t *)&l->poll);
        close_handle(s, (uv_handle_t *)&l->timer);
    }
    close_handle(s, (uv_handle_t *)&s->comments);
}

/* While closing: stops once every request is completed, or, past the deadline, once every request
 * is at least answered. */
static void finish_when_quiet(struct http_server *s)
{
    if (!s->closing || s->stopped)
        return;
    for (unsigned i = 0; i < s->listener_count; i++) {
        const struct acceptor *a = s->listeners[i].acceptor;

        if (acceptor_has_unanswered(a) || !(s->drained || acceptor_is_empty(a)))
            return;
    }
    dispose(s);
}

static void on_drain_deadline(uv_timer_t *t)
{
    struct http_server *s = t->data;

    s->drained = true;
    finish_when_quiet(s);
}

void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg)
{
    if (s == NULL) {
        closed(arg);
        return;
    }
    s->closing = true;
    s->closed = closed;
    s->closed_arg = arg;
    for (unsigned i = 0; i < s->listener_count; i++) {
        acceptor_quiesce(s->listeners[i].acceptor);
        on_wake(&s->listeners[i]);
    }
    uv_timer_start(&s->comments, on_drain_deadline, HTTP_DRAIN_MS, 0);
}

static enum status start_listener(struct http_server *s, struct listener *l)
{
    const struct acceptor_options options = {
        .fd = l->endpoint.fd,
        .local = l->endpoint.path != NULL,
        .counters = &s->counters,
        .admit = on_header,
        .handle = on_body,
        .wake = on_wake,
        .arg = l,
    };
    enum status st = acceptor_start(&options, &l->acceptor);

    if (st != ST_OK)
        return st;
    if (uv_poll_init(s->options.loop, &l->poll, acceptor_descriptor(l->acceptor)) != 0)
        return ST_IO;
    s->handles++;
    (void)uv_timer_init(s->options.loop, &l->timer); /* cannot fail */
    s->handles++;
    l->poll.data = l;
    l->timer.data = l;
    return uv_poll_start(&l->poll, UV_READABLE, on_poll) == 0 ? ST_OK : ST_IO;
}

static enum status open_listeners(struct http_server *s, char why[HTTP_WHY_MAX])
{
    const struct http_options *o = &s->options;
    enum status st = ST_OK;

    if (o->unix_path != NULL)
        st = endpoint_listen_unix(o->unix_path, &s->listeners[s->listener_count++].endpoint, why);
    if (st == ST_OK && o->tcp_host != NULL)
        st = endpoint_listen_tcp(o->tcp_host, o->tcp_port,
                                 &s->listeners[s->listener_count++].endpoint, why);
    for (unsigned i = 0; i < s->listener_count && st == ST_OK; i++) {
        (void)snprintf(why, HTTP_WHY_MAX, "the HTTP server does not start: too many open files?");
        st = start_listener(s, &s->listeners[i]);
    }
    return st;
}

enum status http_server_open(const struct http_options *options, struct http_server **out,
                             char why[HTTP_WHY_MAX])
{
    struct http_server *s = calloc(1, sizeof(*s));
    uint64_t comment_ms = options->comment_ms == 0 ? HTTP_COMMENT_MS : options->comment_ms;
    enum status st;

    (void)snprintf(why, HTTP_WHY_MAX, "%s", status_text(ST_NOMEM));
    if (s == NULL)
        return ST_NOMEM;
    s->options = *options;
    (void)uv_timer_init(options->loop, &s->comments);
    s->handles++;
    s->comments.data = s;
    for (unsigned i = 0; i < LISTENERS_MAX; i++) {
        s->listeners[i].server = s;
        s->listeners[i].endpoint.fd = -1;
    }
    st = open_listeners(s, why);
    if (st != ST_OK) {
        dispose(s);
        return st;
    }
    uv_timer_start(&s->comments, on_comment_time, comment_ms, comment_ms);
    why[0] = '\0';
    *out = s;
    return ST_OK;
}

uint16_t http_server_port(const struct http_server *s)
{
    uint16_t port = 0;

    for (unsigned i = 0; i < s->listener_count; i++)
        if (s->listeners[i].endpoint.port != 0)
            port = s->listeners[i].endpoint.port;
    return port;
}
