/* The HTTP server with raw clients: answers now and late, refusals, its sockets. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "world.h"

static struct client *connect_tcp(struct world *w)
{
    return client_tcp(http_server_port(w->server));
}

static void requests_are_answered_on_both_sockets(void **state)
{
    struct world *w = *state;
    struct client *u = client_unix(w->path), *t = connect_tcp(w);

    client_ask(&w->loop, u, "GET /?say=a%20b+c HTTP/1.1\r\nHost: any\r\n\r\n");
    assert_int_equal(client_code(u), 200);
    assert_string_equal(client_body(u), "a b c");
    assert_non_null(strstr(u->received, "X-Content-Type-Options: nosniff"));
    client_ask(&w->loop, t, "DELETE / HTTP/1.1\r\nHost: localhost:7180\r\n\r\n");
    assert_string_equal(client_body(t), "DELETE");
    client_ask(&w->loop, t, "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n"); /* the same connection */
    assert_string_equal(client_body(t), "GET");
    client_free(u);
    client_free(t);
}

static void a_late_answer_arrives_and_others_do_not_wait_for_it(void **state)
{
    struct world *w = *state;
    struct client *late = client_unix(w->path), *other = client_unix(w->path);

    client_send(&w->loop, late, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
    loop_until(&w->loop, world_holds_one, w);
    client_ask(&w->loop, other, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(client_code(other), 200);
    assert_false(client_has_answer(late));
    http_answer_take(w->held[0], 201, "text/plain", (uint8_t *)strdup("at last"), 7, "a.txt");
    loop_until(&w->loop, client_is_answered, late);
    assert_int_equal(client_code(late), 201);
    assert_string_equal(client_body(late), "at last");
    assert_non_null(strstr(late->received, "attachment; filename=\"a.txt\""));
    client_free(late);
    client_free(other);
}

static void a_client_that_leaves_before_its_late_answer_does_no_harm(void **state)
{
    struct world *w = *state;
    struct client *c = client_unix(w->path);

    client_send(&w->loop, c, "GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
    loop_until(&w->loop, world_holds_one, w);
    client_free(c);
    (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    http_answer(w->held[0], 200, "text/plain", text("to nobody"));
    c = client_unix(w->path);
    client_ask(&w->loop, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(client_code(c), 200);
    client_free(c);
}

static void many_connections_at_once_are_all_answered(void **state)
{
    enum { CLIENTS = 400 };
    struct world *w = *state;
    struct client *clients[CLIENTS];

    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = i % 2 == 0 ? client_unix(w->path) : connect_tcp(w);
        client_send(&w->loop, clients[i],
                    i % 4 == 0 ? "GET /late HTTP/1.1\r\nHost: localhost\r\n\r\n"
                               : "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        if (i % 4 != 0)
            loop_until(&w->loop, client_is_answered, clients[i]);
    assert_int_equal(w->held_count, CLIENTS / 4);
    assert_true(w->counters.connections > CLIENTS / 2);
    for (unsigned i = 0; i < w->held_count; i++)
        http_answer(w->held[i], 200, "text/plain", text("late"));
    for (unsigned i = 0; i < CLIENTS; i++) {
        loop_until(&w->loop, client_is_answered, clients[i]);
        assert_int_equal(client_code(clients[i]), 200);
        client_free(clients[i]);
    }
}

static void a_body_comes_whole_in_either_encoding(void **state)
{
    struct world *w = *state;
    struct client *c = client_unix(w->path);

    client_ask(&w->loop, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello");
    assert_string_equal(client_body(c), "hello");
    client_ask(&w->loop, c,
               "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
               "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n");
    assert_string_equal(client_body(c), "hello");
    client_free(c);
}

/* Sends a body of `length` bytes and returns the answer's code; 0: hung up without one. */
static unsigned code_for_body(struct world *w, size_t length, bool chunked)
{
    struct client *c = client_unix(w->path);
    char *body = malloc(length), head[128];
    unsigned code;

    assert_non_null(body);
    memset(body, 'x', length);
    if (chunked)
        (void)snprintf(head, sizeof(head),
                       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
                       length);
    else
        (void)snprintf(head, sizeof(head),
                       "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", length);
    client_send(&w->loop, c, head);
    client_send_bytes(&w->loop, c, body, length);
    if (chunked)
        client_send(&w->loop, c, "\r\n0\r\n\r\n");
    loop_until(&w->loop, client_is_answered, c);
    code = client_code(c);
    client_free(c);
    free(body);
    return code;
}

static void a_body_over_the_limit_is_refused_and_one_at_the_limit_is_not(void **state)
{
    struct world *w = *state;

    assert_int_equal(code_for_body(w, HTTP_BODY_MAX, false), 200);
    assert_int_equal(code_for_body(w, HTTP_BODY_MAX, true), 200);
    assert_int_equal(code_for_body(w, HTTP_BODY_MAX + 1, false), 413);
    assert_int_equal(code_for_body(w, HTTP_BODY_MAX + 1, true), 413);
    assert_int_equal(w->handled, 2);
}

static void an_endless_body_is_cut_off(void **state)
{
    struct world *w = *state;
    struct client *c = client_unix(w->path);

    assert_int_equal(code_for_body(w, HTTP_DISCARD_MAX + (1 << 20), true), 0);
    client_ask(&w->loop, c, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999\r\n\r\n");
    assert_int_equal(client_code(c), 413); /* without waiting for it */
    assert_int_equal(w->handled, 0);
    client_free(c);
}

static void climbing_paths_and_broken_escapes_never_reach_a_route(void **state)
{
    static const char *const targets[] = {
        "/../etc/passwd",   "/a/%2e%2e/b", "/a/..",   "/%00", "/a%zz",
        "/?a=%00",          "/?a=%0a",     "/?%01=b", "x",    "*",
        "http://localhost/"};
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        struct client *c = client_unix(w->path);
        char request[128];

        (void)snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", targets[i]);
        client_ask(&w->loop, c, request);
        assert_int_equal(client_code(c), 400);
        client_free(c);
    }
    assert_int_equal(w->handled, 0);
}

static unsigned code_on_tcp(struct world *w, const char *headers)
{
    struct client *c = connect_tcp(w);
    char request[256];
    unsigned code;

    (void)snprintf(request, sizeof(request), "GET / HTTP/1.1\r\n%s\r\n", headers);
    client_ask(&w->loop, c, request);
    code = client_code(c);
    client_free(c);
    return code;
}

static void pages_of_other_sites_are_not_served_on_tcp(void **state)
{
    struct world *w = *state;
    struct client *c = connect_tcp(w);

    assert_int_equal(code_on_tcp(w, "Host: evil.example\r\n"), 403);
    assert_int_equal(code_on_tcp(w, "Host: localhost\r\nOrigin: http://evil.example\r\n"), 403);
    assert_int_equal(code_on_tcp(w, "Host: localhost\r\nOrigin: null\r\n"), 403);
    assert_int_equal(code_on_tcp(w, ""), 400);
    client_ask(&w->loop, c, "GET / HTTP/1.0\r\n\r\n");
    assert_int_equal(client_code(c), 403);
    assert_int_equal(w->handled, 0);
    assert_int_equal(code_on_tcp(w, "Host: localhost\r\nOrigin: http://localhost\r\n"), 200);
    assert_int_equal(w->counters.refused_site, 4);
    client_free(c);
}

static void the_peer_is_known_on_the_unix_socket_only(void **state)
{
    struct world *w = *state;
    struct client *u = client_unix(w->path), *t = connect_tcp(w);

    client_ask(&w->loop, u, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_true(w->saw_uid);
    assert_int_equal(w->uid, getuid());
    client_ask(&w->loop, t, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_false(w->saw_uid);
    client_free(u);
    client_free(t);
}

static void malformed_requests_are_answered_or_cut_and_the_server_lives(void **state)
{
    static const char *const requests[] = {
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost h\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    };
    struct world *w = *state;
    struct client *c;

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
        c = client_unix(w->path);
        client_send(&w->loop, c, requests[i]);
        assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
        loop_until(&w->loop, client_is_closed, c);
        assert_true(client_code(c) == 0 || client_code(c) >= 400);
        client_free(c);
    }
    c = client_unix(w->path);
    client_ask(&w->loop, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(client_code(c), 200);
    client_free(c);
}

/* ---- sockets ---- */

static enum status try_open(struct world *w, const char *path, const char *host,
                            char why[HTTP_WHY_MAX])
{
    const struct http_options options = {
        .loop = &w->loop,
        .unix_path = path,
        .tcp_host = host,
        .handle = world_handle,
        .arg = w,
    };
    struct http_server *server = NULL;
    enum status st = http_server_open(&options, &server, why);

    if (st == ST_OK)
        http_server_close(server, world_on_closed, w);
    (void)uv_run(&w->loop, UV_RUN_NOWAIT);
    return st;
}

static void the_socket_file_is_for_owner_and_group_and_goes_with_the_server(void **state)
{
    struct world *w = *state;
    struct stat st;

    assert_int_equal(stat(w->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0660);
    world_close(w);
    assert_int_equal(stat(w->path, &st), -1);
}

static void a_path_that_is_served_or_is_no_socket_is_left_alone(void **state)
{
    struct world *w = *state;
    struct client *c = client_unix(w->path);
    char why[HTTP_WHY_MAX], file[96];
    int fd;

    assert_int_equal(try_open(w, w->path, NULL, why), ST_EXISTS);
    assert_non_null(strstr(why, w->path));
    client_ask(&w->loop, c, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    assert_int_equal(client_code(c), 200);
    client_free(c);

    (void)snprintf(file, sizeof(file), "%s/file", w->directory);
    fd = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_int_equal(try_open(w, file, NULL, why), ST_EXISTS);
    assert_int_equal(unlink(file), 0);
}

static void the_socket_file_of_a_killed_server_is_replaced(void **state)
{
    struct world *w = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char why[HTTP_WHY_MAX];

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/stale", w->directory);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    (void)close(fd); /* as a kill does: the file stays */
    assert_int_equal(try_open(w, address.sun_path, NULL, why), ST_OK);
    loop_until(&w->loop, world_is_closed, w);
    w->closed = false;
}

static void only_loopback_addresses_are_listened_on(void **state)
{
    static const char *const refused[] = {"0.0.0.0", "192.168.0.1", "::", "example.org", ""};
    struct world *w = *state;
    char why[HTTP_WHY_MAX], long_path[200];

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        assert_int_equal(try_open(w, NULL, refused[i], why), ST_INVALID);
        assert_non_null(strstr(why, "loopback"));
    }
    memset(long_path, 'p', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(try_open(w, long_path, NULL, why), ST_INVALID);
    assert_int_equal(try_open(w, "/nonexistent/api.sock", NULL, why), ST_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(requests_are_answered_on_both_sockets),
        world_test(a_late_answer_arrives_and_others_do_not_wait_for_it),
        world_test(a_client_that_leaves_before_its_late_answer_does_no_harm),
        world_test(many_connections_at_once_are_all_answered),
        world_test(a_body_comes_whole_in_either_encoding),
        world_test(a_body_over_the_limit_is_refused_and_one_at_the_limit_is_not),
        world_test(an_endless_body_is_cut_off),
        world_test(climbing_paths_and_broken_escapes_never_reach_a_route),
        world_test(pages_of_other_sites_are_not_served_on_tcp),
        world_test(the_peer_is_known_on_the_unix_socket_only),
        world_test(malformed_requests_are_answered_or_cut_and_the_server_lives),
        world_test(the_socket_file_is_for_owner_and_group_and_goes_with_the_server),
        world_test(a_path_that_is_served_or_is_no_socket_is_left_alone),
        world_test(the_socket_file_of_a_killed_server_is_replaced),
        world_test(only_loopback_addresses_are_listened_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
