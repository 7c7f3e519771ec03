/* server - HTTP/1.1 on the libuv loop, by libmicrohttpd: a UNIX socket and loopback TCP.
 * Knows no routes: requests go to one handler, which answers now, later, or as a stream of events.
 * Loop thread only. */
#ifndef COORDINATOR_HTTP_SERVER_H
#define COORDINATOR_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

enum {
    HTTP_BODY_MAX = 1 << 20, /* bytes of a request body */
    HTTP_CONNECTIONS_MAX = 1024,
    HTTP_STREAMS_MAX = 256, /* server-sent event streams at once */
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
    void (*handle)(void *arg, struct http_request *r);
    void *arg;
};

enum status http_server_open(const struct http_options *options, struct http_server **out,
                             char why[HTTP_WHY_MAX]);
/* Ends streams, waits for unanswered requests' answers (the caller has seen to them), closes;
 * `closed` is called on the loop when no handle is left. */
void http_server_close(struct http_server *s, void (*closed)(void *arg), void *arg);
uint16_t http_server_port(const struct http_server *s);

const char *http_method(const struct http_request *r); /* "GET" */
const char *http_path(const struct http_request *r); /* without the query; decoded; no ".." */
const char *http_query(const struct http_request *r, const char *name); /* decoded; NULL: absent */
struct slice http_body(const struct http_request *r);
/* Peer's user id on the UNIX socket; false on TCP. */
bool http_peer_uid(const struct http_request *r, uint32_t *out);

/* Exactly one of these answers a request; now or later. Bodies are copied, `take` owns malloc'd
 * bytes. */
void http_answer(struct http_request *r, unsigned code, const char *media_type, struct slice body);
void http_answer_take(struct http_request *r, unsigned code, const char *media_type, uint8_t *bytes,
                      size_t length, const char *file_name /* NULL: not a download */);

/* Server-sent events: begin, then any number of sends, then end. `gone` is called when the client
 * left or the stream ended; after it the request must not be touched. */
void http_stream_begin(struct http_request *r, void (*gone)(void *arg), void *arg);
enum status http_stream_send(struct http_request *r, const char *event, const char *data);
void http_stream_end(struct http_request *r);

#endif
