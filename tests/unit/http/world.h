/* world - a server with a handler that the tests steer: "/late" and "/stream" are held for the test
 * to answer, any other path answers its body, its parameter `say` or its method. */
#ifndef TESTS_UNIT_HTTP_WORLD_H
#define TESTS_UNIT_HTTP_WORLD_H

#include "client.h"
#include "coordinator/http/server.h"

enum { HELD_MAX = 512, COMMENT_MS = 20 };

struct world {
    uv_loop_t loop;
    struct http_server *server;
    char directory[64], path[96];
    struct http_request *held[HELD_MAX]; /* waiting for a late answer, or streams */
    unsigned held_count, gone, handled;
    bool closed;
    bool saw_uid;
    uint32_t uid;
    struct http_counters counters;
};

int world_set_up(void **state); /* *state: the struct world */
int world_tear_down(void **state); /* checks that nothing is left: handles, sockets, files */
void world_close(struct world *w); /* the server, and waits for it */
void world_on_closed(void *world); /* for http_server_close: sets `closed` */
void world_handle(void *world, struct http_request *r); /* for http_options.handle */

/* For loop_until. */
bool world_is_closed(void *world);
bool world_holds_one(void *world);
bool world_all_gone(void *world); /* every stream that it held */
bool client_is_answered(void *client);
bool client_is_closed(void *client);

struct slice text(const char *s);

#define world_test(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)

#endif
