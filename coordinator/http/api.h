/* api - /api/v1: from requests to the control plane and the queries, and back as JSON.
 * Commands run on the loop; questions run on libuv's worker threads over a snapshot of the store.
 * schemas/openapi.yaml is the reference of every path, parameter and field. */
#ifndef COORDINATOR_HTTP_API_H
#define COORDINATOR_HTTP_API_H

#include "common/status.h"
#include "coordinator/control/control.h"
#include "coordinator/http/server.h"
#include "coordinator/query/symbolize.h"

struct api; /* opaque */

struct api_options {
    struct uv_loop_s *loop; /* questions run on its worker threads */
    struct store *store;
    struct control *control;
    struct ingest *ingest;
    struct symbol_cache *symbols;
    /* counters of the agents' link, for status and metrics; NULL: none */
    void (*link_counters)(void *arg, void (*visit)(void *to, const char *name, uint64_t value),
                          void *to);
    void *arg;
};

enum status api_new(const struct api_options *options, struct api **out);
/* The order of the end: api_quiesce, on `idle` http_server_close, on `closed` api_free. */
/* Ends the streams, refuses new requests, and calls `idle` on the loop once no command and no
 * question is waiting for its answer. The store and control must live until then. */
void api_quiesce(struct api *a, void (*idle)(void *arg), void *arg);
void api_free(struct api *a); /* after the server is closed. NULL is fine */

void api_handle(void *api, struct http_request *r); /* for http_options.handle */
void api_session_changed(void *api, uint64_t session); /* for control_options.changed */

#endif
