/* session_events - streams of what happens to a session, for live views.
 * A change marks the streams of its session; the loop sends what is marked, at most five times a
 * second. A reader that is too slow misses steps, never the end. Loop thread only. */
#ifndef COORDINATOR_HTTP_SESSION_EVENTS_H
#define COORDINATOR_HTTP_SESSION_EVENTS_H

#include <stdint.h>

#include "common/status.h"
#include "coordinator/control/control.h"
#include "coordinator/http/server.h"

enum {
    SESSION_EVENTS_MS = 200, /* at least, between two events of a stream */
    SESSION_EVENTS_REST = 10, /* and this many times what the last round took: a session of 20,000
                                 hosts is megabytes, and the loop has other work */
};

struct session_events; /* opaque */

enum status session_events_new(struct uv_loop_s *loop, struct control *control,
                               struct session_events **out);
/* Tells every stream to end; `stopped` is called on the loop when no handle is left. */
void session_events_stop(struct session_events *e, void (*stopped)(void *arg), void *arg);
/* After it has stopped and the last stream is gone: when the server is closed. */
void session_events_free(struct session_events *e);

/* Begins a stream as the answer to `r`; its first event follows at once. ST_FULL, ST_NOMEM: `r` is
 * still to be answered. */
enum status session_events_add(struct session_events *e, struct http_request *r, uint64_t session);
void session_events_changed(struct session_events *e, uint64_t session);

#endif
