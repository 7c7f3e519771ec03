#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct slice text(const char *s)
{
    return (struct slice){(const uint8_t *)s, strlen(s)};
}

static void on_gone(void *arg)
{
    struct world *w = arg;

    w->gone++;
}

void world_handle(void *arg, struct http_request *r)
{
    struct world *w = arg;
    const char *path = http_path(r);

    w->handled++;
    w->counters = http_read_counters(r);
    w->saw_uid = http_peer_uid(r, &w->uid);
    if (strcmp(path, "/late") == 0)
        w->held[w->held_count++] = r;
    else if (strcmp(path, "/stream") != 0)
        http_answer(r, 200, "text/plain",
                    http_body(r).length > 0
                        ? http_body(r)
                        : text(http_query(r, "say") ? http_query(r, "say") : http_method(r)));
    else if (http_stream_begin(r, on_gone, w) == ST_OK)
        w->held[w->held_count++] = r;
    else
        http_answer(r, 429, "text/plain", text("full"));
}

int world_set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct http_options options = {.tcp_host = "127.0.0.1", .comment_ms = COMMENT_MS};
    char why[HTTP_WHY_MAX];

    assert_non_null(w);
    assert_int_equal(uv_loop_init(&w->loop), 0);
    strcpy(w->directory, "/tmp/fleetprof-http-XXXXXX");
    assert_non_null(mkdtemp(w->directory));
    (void)snprintf(w->path, sizeof(w->path), "%s/api.sock", w->directory);
    options.loop = &w->loop;
    options.unix_path = w->path;
    options.handle = world_handle;
    options.arg = w;
    assert_int_equal(http_server_open(&options, &w->server, why), ST_OK);
    *state = w;
    return 0;
}

void world_on_closed(void *arg)
{
    struct world *w = arg;

    w->closed = true;
}

bool world_is_closed(void *arg)
{
    const struct world *w = arg;

    return w->closed;
}

void world_close(struct world *w)
{
    http_server_close(w->server, world_on_closed, w);
    w->server = NULL;
    loop_until(&w->loop, world_is_closed, w);
}

int world_tear_down(void **state)
{
    struct world *w = *state;

    if (w->server != NULL)
        world_close(w);
    assert_int_equal(uv_run(&w->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&w->loop), 0); /* nothing was left alive */
    assert_int_equal(rmdir(w->directory), 0); /* nor in the file system */
    free(w);
    return 0;
}

bool world_holds_one(void *arg)
{
    const struct world *w = arg;

    return w->held_count > 0;
}

bool client_is_answered(void *arg)
{
    return client_has_answer(arg);
}

bool client_is_closed(void *arg)
{
    struct client *c = arg;

    client_pump(c);
    return c->closed;
}

bool world_all_gone(void *arg)
{
    const struct world *w = arg;

    return w->gone == w->held_count;
}
