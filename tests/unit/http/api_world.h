/* api_world - the API over a real store, ingest and control in a directory of its own, and an agent
 * that exists only as a link: what control sends to it is kept, what it uploads is made here. */
#ifndef TESTS_UNIT_HTTP_API_WORLD_H
#define TESTS_UNIT_HTTP_API_WORLD_H

#include <jansson.h>

#include "client.h"
#include "coordinator/http/api.h"

struct api_world {
    uv_loop_t loop;
    uv_async_t async; /* the store's wake */
    struct store *store;
    struct ingest *ingest;
    struct symbol_cache *symbols;
    struct control *control;
    struct api *api;
    struct http_server *server;
    struct client *client; /* on the UNIX socket */
    char directory[64], path[96];
    struct plan plan; /* the last that control sent to the agent */
    uint32_t stored; /* chunks that ingest has reported */
    uint64_t sequence; /* of the agent's last chunk */
    bool ending, idle, closed; /* steps of the end */
};

int api_set_up(void **state);
int api_tear_down(void **state);
void api_begin_end(struct api_world *w); /* quiesces; `idle` follows */
void api_close(struct api_world *w); /* in the order that api.h demands */

/* Asks on the UNIX socket and checks the code. NULL: the body is no JSON. The caller frees. */
json_t *ask(struct api_world *w, const char *method, const char *target, const char *body,
            unsigned code);
/* Within `json`: "rows.0.key.1". Fails the test when it is not there. */
const json_t *at(const json_t *json, const char *path);
const char *text_at(const json_t *json, const char *path);
double number_at(const json_t *json, const char *path);

/* Host "web1" says hello, service=checkout. */
void agent_connects(struct api_world *w);
/* 99 samples of the plan's first profiler over the second that begins now, and is taken to be over:
 * 90 in `function`, called by main, and 9 in main itself. Returns when they are stored. */
void agent_uploads(struct api_world *w, const char *function);

#define api_test(f) cmocka_unit_test_setup_teardown(f, api_set_up, api_tear_down)

#endif
