/* acceptor - libmicrohttpd on one listening socket: takes requests in, carries answers and streams
 * out. Implements what server.h says of a request; knows neither loop nor policy, which are
 * server.c's. It has no thread: its owner watches its descriptor and keeps its deadline. */
#ifndef COORDINATOR_HTTP_ACCEPTOR_H
#define COORDINATOR_HTTP_ACCEPTOR_H

#include "coordinator/http/server.h"

struct acceptor; /* opaque */

struct acceptor_options {
    int fd; /* listening; stays the caller's */
    bool local; /* a UNIX socket: peers have user ids */
    struct http_counters *counters; /* shared by a server's acceptors */
    void (*admit)(void *arg, struct http_request *r); /* the header is here: may answer at once */
    void (*handle)(void *arg, struct http_request *r); /* the body is here: answer now or later */
    void (*wake)(void *arg); /* call acceptor_run soon, but not inside this call */
    void *arg;
};

enum status acceptor_start(const struct acceptor_options *options, struct acceptor **out);
/* Nothing may be unanswered: libmicrohttpd would abort the process. Closes all connections. */
void acceptor_stop(struct acceptor *a); /* NULL is fine */

int acceptor_descriptor(const struct acceptor *a); /* readable: call acceptor_run */
/* Does what there is to do. true: call it again after `out_ms` at the latest. */
bool acceptor_run(struct acceptor *a, uint64_t *out_ms);

void acceptor_comment(struct acceptor *a); /* on every silent stream */
void acceptor_quiesce(struct acceptor *a); /* takes no connection any more, ends the streams */
bool acceptor_is_empty(const struct acceptor *a); /* every request has been completed */
bool acceptor_has_unanswered(const struct acceptor *a);
uint32_t acceptor_connections(const struct acceptor *a);

void *acceptor_of(const struct http_request *r); /* the `arg` of its acceptor's options */
uint64_t acceptor_body_seen(const struct http_request *r); /* bytes, also those thrown away */

#endif
