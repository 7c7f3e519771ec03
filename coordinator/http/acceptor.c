#include "coordinator/http/acceptor.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "coordinator/http/guard.h"
#include "coordinator/http/outbox.h"

enum {
    METHOD_MAX = 16, /* "OPTIONS" is the longest that anybody sends us */
    STREAM_BLOCK =
        16 << 10, /* bytes of a stream written at once; fits a connection's 32 KiB pool */
    BODY_FIRST = 4096,
};

struct acceptor {
    struct acceptor_options options;
    struct MHD_Daemon *daemon;
    struct http_request *requests; /* all that are not completed */
    bool quiet; /* quiesced: streams end as soon as they begin */
};

enum request_state {
    REQUEST_READING, /* its body is not complete */
    REQUEST_OPEN, /* handed to the handler, no answer yet */
    REQUEST_ANSWERED,
    REQUEST_STREAMING,
};

struct http_request {
    struct acceptor *acceptor;
    struct MHD_Connection *connection;
    struct http_request *previous, *next;
    enum request_state state;
    bool suspended; /* libmicrohttpd leaves the connection alone until it is resumed */
    char method[METHOD_MAX];
    char *path;
    uint8_t *body;
    size_t body_length, body_capacity;
    uint64_t body_seen; /* kept or thrown away */
    struct MHD_Response *response; /* ours until it is queued; NULL and answered: out of memory */
    unsigned code;
    struct outbox unsent; /* of a stream */
    bool ended;
    void (*gone)(void *arg);
    void *gone_arg;
};

/* Lets a suspended connection go on, in the next run. */
static void resume(struct http_request *r)
{
    if (!r->suspended)
        return;
    r->suspended = false;
    MHD_resume_connection(r->connection);
    r->acceptor->options.wake(r->acceptor->options.arg);
}

static void suspend(struct http_request *r)
{
    r->suspended = true;
    MHD_suspend_connection(r->connection);
}

/* ---- requests ---- */

static struct http_request *request_new(struct acceptor *a, struct MHD_Connection *connection,
                                        const char *method, const char *path)
{
    struct http_request *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->path = strdup(path);
    if (r->path == NULL) {
        free(r);
        return NULL;
    }
    r->acceptor = a;
    r->connection = connection;
    (void)snprintf(r->method, sizeof(r->method), "%s", method);
    r->next = a->requests;
    if (r->next != NULL)
        r->next->previous = r;
    a->requests = r;
    a->options.counters->requests++;
    return r;
}

static void request_free(struct http_request *r)
{
    if (r->next != NULL)
        r->next->previous = r->previous;
    if (r->previous != NULL)
        r->previous->next = r->next;
    else
        r->acceptor->requests = r->next;
    if (r->response != NULL)
        MHD_destroy_response(r->response);
    outbox_deinit(&r->unsent);
    free(r->body);
    free(r->path);
    free(r);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **slot,
                         enum MHD_RequestTerminationCode why)
{
    struct http_request *r = *slot;

    (void)arg;
    (void)connection;
    (void)why;
    *slot = NULL;
    if (r == NULL)
        return;
    if (r->state == REQUEST_STREAMING) {
        r->acceptor->options.counters->streams--;
        r->gone(r->gone_arg);
    }
    request_free(r);
}

/* ---- answers ---- */

static void add_headers(struct MHD_Response *response, const char *media_type)
{
    /* Pages are self-contained; they may ask this server for data, and nobody else for anything. */
    static const char page_policy[] =
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'";

    (void)MHD_add_response_header(response, "Content-Type", media_type);
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    if (strncmp(media_type, "text/html", 9) == 0)
        (void)MHD_add_response_header(response, "Content-Security-Policy", page_policy);
}

/* `response` NULL: out of memory, and the connection is closed instead. */
static void answer(struct http_request *r, unsigned code, struct MHD_Response *response)
{
    r->state = REQUEST_ANSWERED;
    r->code = code;
    r->response = response;
    r->acceptor->options.counters->answers[code / 100 < 6 ? code / 100 : 0]++;
    resume(r);
}

static struct MHD_Response *copied_response(const char *media_type, struct slice body)
{
    /* Not written to: libmicrohttpd copies, it only lacks the const. */
    struct MHD_Response *response = MHD_create_response_from_buffer(
        body.length, (void *)(uintptr_t)body.bytes, MHD_RESPMEM_MUST_COPY);

    if (response != NULL)
        add_headers(response, media_type);
    return response;
}

void http_answer(struct http_request *r, unsigned code, const char *media_type, struct slice body)
{
    answer(r, code, copied_response(media_type, body));
}

void http_answer_not_allowed(struct http_request *r, const char *allow, const char *media_type,
                             struct slice body)
{
    struct MHD_Response *response = copied_response(media_type, body);

    if (response != NULL)
        (void)MHD_add_response_header(response, "Allow", allow);
    answer(r, MHD_HTTP_METHOD_NOT_ALLOWED, response);
}

void http_answer_take(struct http_request *r, unsigned code, const char *media_type, uint8_t *bytes,
                      size_t length, const char *file_name)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, bytes, MHD_RESPMEM_MUST_FREE);
    char disposition[160];

    if (response == NULL) {
        free(bytes);
        answer(r, code, NULL);
        return;
    }
    add_headers(response, media_type);
    if (file_name != NULL) {
        (void)snprintf(disposition, sizeof(disposition), "attachment; filename=\"%.120s\"",
                       file_name);
        (void)MHD_add_response_header(response, "Content-Disposition", disposition);
    }
    answer(r, code, response);
}

/* ---- streams ---- */

static ssize_t read_stream(void *arg, uint64_t position, char *to, size_t room)
{
    struct http_request *r = arg;
    size_t taken = outbox_take(&r->unsent, to, room);

    (void)position;
    if (taken > 0)
        return (ssize_t)taken;
    if (r->ended)
        return MHD_CONTENT_READER_END_OF_STREAM;
    suspend(r);
    return 0;
}

enum status http_stream_begin(struct http_request *r, void (*gone)(void *arg), void *arg)
{
    struct http_counters *counters = r->acceptor->options.counters;
    struct MHD_Response *response;

    if (counters->streams >= HTTP_STREAMS_MAX)
        return ST_FULL;
    response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, r, NULL);
    if (response == NULL)
        return ST_NOMEM;
    add_headers(response, "text/event-stream");
    answer(r, MHD_HTTP_OK, response);
    r->state = REQUEST_STREAMING;
    r->gone = gone;
    r->gone_arg = arg;
    r->ended = r->acceptor->quiet;
    counters->streams++;
    return ST_OK;
}

enum status http_stream_send(struct http_request *r, const char *event, const char *data)
{
    enum status st = ST_FULL;

    if (outbox_waiting(&r->unsent) <= HTTP_STREAM_UNSENT_MAX)
        st = outbox_put_event(&r->unsent, event, data);
    if (st == ST_OK)
        resume(r);
    else
        r->acceptor->options.counters->events_dropped++;
    return st;
}

void http_stream_end(struct http_request *r)
{
    r->ended = true;
    resume(r);
}

/* A line that readers skip; a reader that has left is noticed when it is written. */
void acceptor_comment(struct acceptor *a)
{
    for (struct http_request *r = a->requests; r != NULL; r = r->next)
        if (r->state == REQUEST_STREAMING && outbox_waiting(&r->unsent) == 0 &&
            outbox_put(&r->unsent, ":\n\n") == ST_OK)
            resume(r);
}

/* ---- libmicrohttpd's side ---- */

static size_t on_unescape(void *arg, struct MHD_Connection *connection, char *text)
{
    (void)arg;
    (void)connection;
    return guard_unescape(text);
}

/* Keeps a piece of the body. false: far over the limit, or no memory; close the connection. */
static bool take_body(struct http_request *r, const char *piece, size_t length)
{
    size_t capacity = r->body_capacity == 0 ? BODY_FIRST : r->body_capacity;
    uint8_t *body;

    r->body_seen += length;
    if (r->body_seen > HTTP_BODY_MAX)
        return r->body_seen <= HTTP_DISCARD_MAX;
    while (capacity < r->body_length + length)
        capacity *= 2;
    if (capacity != r->body_capacity) {
        body = realloc(r->body, capacity);
        if (body == NULL)
            return false;
        r->body = body;
        r->body_capacity = capacity;
    }
    memcpy(r->body + r->body_length, piece, length);
    r->body_length += length;
    return true;
}

static enum MHD_Result queue_answer(struct http_request *r)
{
    enum MHD_Result result;

    if (r->response == NULL)
        return MHD_NO;
    result = MHD_queue_response(r->connection, r->code, r->response);
    MHD_destroy_response(r->response); /* the connection holds its own reference */
    r->response = NULL;
    return result;
}

/* Called with the header, then with pieces of the body, then at its end, and after each resume
 * until an answer is queued. MHD_NO closes the connection. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *piece,
                                  size_t *piece_length, void **slot)
{
    struct acceptor *a = arg;
    struct http_request *r = *slot;

    (void)version;
    if (r == NULL) {
        r = request_new(a, connection, method, path);
        if (r == NULL)
            return MHD_NO;
        *slot = r;
        a->options.admit(a->options.arg, r);
        return r->state == REQUEST_ANSWERED ? queue_answer(r) : MHD_YES;
    }
    if (*piece_length > 0) {
        size_t length = *piece_length;

        *piece_length = 0;
        return take_body(r, piece, length) ? MHD_YES : MHD_NO;
    }
    if (r->state == REQUEST_READING) {
        r->state = REQUEST_OPEN;
        a->options.handle(a->options.arg, r);
    }
    if (r->state == REQUEST_OPEN) {
        suspend(r);
        return MHD_YES;
    }
    return queue_answer(r);
}

/* ---- what handlers read ---- */

const char *http_header(const struct http_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

const char *http_method(const struct http_request *r)
{
    return r->method;
}

const char *http_path(const struct http_request *r)
{
    return r->path;
}

struct query_walk {
    bool (*visit)(void *arg, const char *name, const char *value);
    void *arg;
};

static enum MHD_Result on_query_value(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct query_walk *walk = arg;

    (void)kind;
    return walk->visit(walk->arg, name, value == NULL ? "" : value) ? MHD_YES : MHD_NO;
}

void http_each_query(const struct http_request *r,
                     bool (*visit)(void *arg, const char *name, const char *value), void *arg)
{
    struct query_walk walk = {visit, arg};

    (void)MHD_get_connection_values(r->connection, MHD_GET_ARGUMENT_KIND, on_query_value, &walk);
}

const char *http_query(const struct http_request *r, const char *name)
{
    const char *value = NULL;

    if (MHD_lookup_connection_value_n(r->connection, MHD_GET_ARGUMENT_KIND, name, strlen(name),
                                      &value, NULL) != MHD_YES)
        return NULL;
    return value == NULL ? "" : value;
}

struct slice http_body(const struct http_request *r)
{
    return (struct slice){r->body, r->body_length};
}

bool http_peer_uid(const struct http_request *r, uint32_t *out)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ucred peer;
    socklen_t length = sizeof(peer);

    if (!r->acceptor->options.local || info == NULL ||
        getsockopt(info->connect_fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return false;
    *out = peer.uid;
    return true;
}

/* ---- what the server needs ---- */

uint64_t acceptor_body_seen(const struct http_request *r)
{
    return r->body_seen;
}

void *acceptor_of(const struct http_request *r)
{
    return r->acceptor->options.arg;
}

enum status acceptor_start(const struct acceptor_options *options, struct acceptor **out)
{
    struct acceptor *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return ST_NOMEM;
    a->options = *options;
    a->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL, NULL, on_request, a,
        MHD_OPTION_LISTEN_SOCKET, options->fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)HTTP_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_S,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, NULL, MHD_OPTION_END);
    if (a->daemon == NULL) {
        free(a);
        return ST_IO; /* memory, or no descriptor left for epoll */
    }
    *out = a;
    return ST_OK;
}

void acceptor_stop(struct acceptor *a)
{
    if (a == NULL)
        return;
    MHD_stop_daemon(a->daemon);
    free(a);
}

int acceptor_descriptor(const struct acceptor *a)
{
    return MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

bool acceptor_run(struct acceptor *a, uint64_t *out_ms)
{
    MHD_UNSIGNED_LONG_LONG ms = 0;

    (void)MHD_run(a->daemon); /* fails only for a daemon with a thread of its own */
    if (MHD_get_timeout(a->daemon, &ms) != MHD_YES)
        return false;
    *out_ms = ms;
    return true;
}

void acceptor_quiesce(struct acceptor *a)
{
    (void)MHD_quiesce_daemon(a->daemon); /* gives back the descriptor, which the caller has */
    a->quiet = true;
    for (struct http_request *r = a->requests; r != NULL; r = r->next)
        if (r->state == REQUEST_STREAMING)
            http_stream_end(r);
}

bool acceptor_is_empty(const struct acceptor *a)
{
    return a->requests == NULL;
}

bool acceptor_has_unanswered(const struct acceptor *a)
{
    for (const struct http_request *r = a->requests; r != NULL; r = r->next)
        if (r->suspended)
            return true;
    return false;
}

uint32_t acceptor_connections(const struct acceptor *a)
{
    return MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}
