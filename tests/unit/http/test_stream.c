/* The HTTP server's event streams, and its end while some are open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

/* ---- streams ---- */

static struct client *open_stream(struct world *w)
{
    struct client *c = client_unix(w->path);
    unsigned before = w->held_count;

    client_send(&w->loop, c, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    while (w->held_count == before)
        (void)uv_run(&w->loop, UV_RUN_ONCE);
    return c;
}

static bool has_third_event(void *arg)
{
    struct client *c = arg;

    client_pump(c);
    return strstr(c->received, "event: e\ndata: {\"n\":3}\n\n") != NULL;
}

static void fifty_streams_get_every_event_and_their_end(void **state)
{
    enum { STREAMS = 50 };
    static const char *const events[] = {"{\"n\":1}", "{\"n\":2}", "{\"n\":3}"};
    struct world *w = *state;
    struct client *clients[STREAMS];

    for (unsigned i = 0; i < STREAMS; i++)
        clients[i] = open_stream(w);
    for (unsigned e = 0; e < 3; e++)
        for (unsigned i = 0; i < STREAMS; i++)
            assert_int_equal(http_stream_send(w->held[i], "e", events[e]), ST_OK);
    for (unsigned i = 0; i < STREAMS; i++) {
        loop_until(&w->loop, has_third_event, clients[i]);
        assert_non_null(strstr(clients[i]->received, "data: {\"n\":1}\n\n"));
        assert_non_null(strstr(clients[i]->received, "text/event-stream"));
    }
    assert_int_equal(w->gone, 0);
    for (unsigned i = 0; i < STREAMS; i++)
        http_stream_end(w->held[i]);
    for (unsigned i = 0; i < STREAMS; i++) {
        loop_until(&w->loop, client_is_answered, clients[i]);
        client_free(clients[i]);
    }
    loop_until(&w->loop, world_all_gone, w);
}

static bool has_two_comments(void *arg)
{
    struct client *c = arg;
    const char *first;

    client_pump(c);
    first = strstr(c->received, ":\n\n");
    return first != NULL && strstr(first + 1, ":\n\n") != NULL;
}

static void a_silent_stream_carries_comments_and_a_lost_reader_is_noticed_by_them(void **state)
{
    struct world *w = *state;
    struct client *c = open_stream(w);

    loop_until(&w->loop, has_two_comments, c);
    assert_int_equal(w->gone, 0);
    client_free(c);
    loop_until(&w->loop, world_all_gone, w);
}

static void a_stream_over_the_limit_is_told_so_and_a_place_becomes_free_again(void **state)
{
    struct world *w = *state;
    struct client *clients[HTTP_STREAMS_MAX], *one_more = client_unix(w->path);

    for (unsigned i = 0; i < HTTP_STREAMS_MAX; i++)
        clients[i] = open_stream(w);
    client_ask(&w->loop, one_more, "GET /stream HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(client_code(one_more), 429);
    for (unsigned i = 0; i < HTTP_STREAMS_MAX; i++)
        client_free(clients[i]);
    loop_until(&w->loop, world_all_gone, w);
    client_free(open_stream(w));
    client_free(one_more);
}

static void a_slow_reader_misses_events_but_costs_bounded_memory(void **state)
{
    struct world *w = *state;
    struct client *c = open_stream(w), *other = client_unix(w->path);
    char *data = malloc(100001);
    unsigned sent = 0;

    assert_non_null(data);
    memset(data, 'x', 100000);
    data[100000] = '\0';
    while (http_stream_send(w->held[0], "e", data) == ST_OK) { /* nobody reads */
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
        assert_true(++sent < 1000);
    }
    client_ask(&w->loop, other, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(w->counters.events_dropped, 1);
    client_free(c);
    client_free(other);
    free(data);
    loop_until(&w->loop, world_all_gone, w);
}

/* ---- the end ---- */

static void closing_ends_streams_and_waits_for_the_last_answer(void **state)
{
    struct world *w = *state;
    struct client *stream = open_stream(w), *late = client_unix(w->path),
                  *idle = client_unix(w->path);

    client_ask(&w->loop, idle, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    client_send(&w->loop, late, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
    while (w->held_count < 2)
        (void)uv_run(&w->loop, UV_RUN_ONCE);
    http_server_close(w->server, world_on_closed, w);
    w->server = NULL;
    loop_until(&w->loop, client_is_answered, stream);
    assert_int_equal(w->gone, 1);
    client_ask(&w->loop, idle, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(client_code(idle), 503);
    assert_false(w->closed);
    http_answer(w->held[1], 200, "text/plain", text("the last"));
    loop_until(&w->loop, client_is_answered, late);
    assert_string_equal(client_body(late), "the last");
    loop_until(&w->loop, world_is_closed, w);
    client_free(stream);
    client_free(late);
    client_free(idle);
}

static void a_reader_that_takes_nothing_does_not_hold_up_the_end(void **state)
{
    struct world *w = *state;
    struct client *c = open_stream(w);
    char *data = malloc(200001);

    assert_non_null(data);
    memset(data, 'x', 200000);
    data[200000] = '\0';
    while (http_stream_send(w->held[0], "e", data) == ST_OK)
        (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    world_close(w); /* within HTTP_DRAIN_MS */
    assert_int_equal(w->gone, 1);
    client_free(c);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(fifty_streams_get_every_event_and_their_end),
        world_test(a_silent_stream_carries_comments_and_a_lost_reader_is_noticed_by_them),
        world_test(a_stream_over_the_limit_is_told_so_and_a_place_becomes_free_again),
        world_test(a_slow_reader_misses_events_but_costs_bounded_memory),
        world_test(closing_ends_streams_and_waits_for_the_last_answer),
        world_test(a_reader_that_takes_nothing_does_not_hold_up_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
