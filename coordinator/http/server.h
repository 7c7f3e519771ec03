/* server - HTTP/1.1 on the libuv loop, by libmicrohttpd: a UNIX socket and loopback TCP.
 * Knows no routes: requests go to one handler, which answers now, later, or as a stream of events.
 * Refuses by itself what no route should see: bodies over the limit, malformed or climbing paths,
 * and, on TCP, pages of other sites (a foreign Host or Origin: DNS rebinding). Loop thread only. */
#ifndef COORDINATOR_HTTP_SERVER_H
#define COORDINATOR_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

enum {
    HTTP_BODY_MAX = 1 << 20, /* bytes of a request body; more is answered 413 */
    HTTP_DISCARD_MAX = 8 << 20, /* a body over its limit is read this far, so that its sender gets
                                   to read the answer; then the connection is closed */
    HTTP_CONNECTIONS_MAX = 1024, /* of each socket; more wait in its backlog */
    HTTP_IDLE_S = 30, /* a connection that makes no progress for so long is closed */
    HTTP_STREAMS_MAX = 256, /* server-sent event streams at once */
    HTTP_STREAM_UNSENT_MAX = 256 << 10, /* bytes that a slow reader may leave before it misses
                                           events; one event may be longer */
    HTTP_COMMENT_MS = 15000, /* between comments on a silent stream: how a lost reader is noticed */
    HTTP_DRAIN_MS = 2000, /* that answers get to leave when the server closes */
    HTTP_WHY_MAX = 256,
};

struct http_server; /* opaque */
struct http_request; /* opaque: alive until it is answered or its stream has ended */
struct uv_loop_s;

struct http_options {
    struct uv_loop_s *loop;
    const char *unix_path; /* NULL: none. Made with mode 0660 */
    const char *tcp_host; /* NULL: none. Loopback only */
    uint16_t tcp_port; /* 0: any */
    uint32_t comment_ms; /* 0: HTTP_COMMENT_MS */
    void (*handle)(void *arg, struct http_request *r);
    void *arg;
};

/* ST_INVALID: not a loopback address, or the path is too long; ST_EXISTS: in use; ST_DENIED;
 * ST_IO. `why` names the address. */
enum status http_server_open(const struct http_options *options, struct http_server **out,
                             char why[HTTP_WHY_MAX]);
/* Ends streams, waits for unanswered requests' answers (the caller has seen to them), closes;
 * `closed` is called on the loop when no handle is left. NULL is fine: `closed` is called at once.
 */
void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg);
uint16_t http_server_port(const struct http_server *s); /* TCP; 0: none */

struct http_counters {
    uint64_t requests, refused_body, refused_path, refused_site;
    uint64_t answers[6]; /* by hundreds of the code */
    uint64_t events_dropped; /* not sent, because the reader was too slow */
    uint32_t connections, streams; /* open now */
};
/* Of the server that `r` came in by: for views of the server itself. */
struct http_counters http_read_counters(const struct http_request *r);

const char *http_method(const struct http_request *r); /* "GET" */
const char *http_path(const struct http_request *r); /* without the query; decoded; no ".." */
const char *http_query(const struct http_request *r, const char *name); /* decoded; NULL: absent */
/* Every parameter of the query as sent, doubles too. `visit` returns false to stop. */
void http_each_query(const struct http_request *r,
                     bool (*visit)(void *arg, const char *name, const char *value), void *arg);
const char *http_header(const struct http_request *r, const char *name); /* NULL: absent */
struct slice http_body(const struct http_request *r);
/* Peer's user id on the UNIX socket; false on TCP. */
bool http_peer_uid(const struct http_request *r, uint32_t *out);

/* Exactly one of these answers a request; now or later. Bodies are copied, `take` owns malloc'd
 * bytes. After a late answer the request must not be touched. */
void http_answer(struct http_request *r, unsigned code, const char *media_type, struct slice body);
void http_answer_take(struct http_request *r, unsigned code, const char *media_type, uint8_t *bytes,
                      size_t length, const char *file_name /* NULL: not a download */);
/* Like http_answer; `allow` lists the methods of this path: "GET, HEAD". */
void http_answer_not_allowed(struct http_request *r, const char *allow, const char *media_type,
                             struct slice body);

/* Server-sent events: begin, then any number of sends, then end. `gone` is called when the client
 * left or the stream ended; after it the request must not be touched. */
/* ST_FULL: HTTP_STREAMS_MAX are open; ST_NOMEM. The request is then still to be answered. */
enum status http_stream_begin(struct http_request *r, void (*gone)(void *arg), void *arg);
/* `data` is one line. ST_FULL: the reader is too slow, the event was dropped; ST_NOMEM likewise. */
enum status http_stream_send(struct http_request *r, const char *event, const char *data);
void http_stream_end(struct http_request *r);

#endif
