/* channel: a stock nng REQ socket, which any tool may use, gets its reply from our listener. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/common/end.h"

static const struct channel_options usual = {
    .frame_bytes_max = 1 << 20,
    .queued_bytes_max = 4 << 20,
    .connections_max = 10,
};

static uint32_t wanted;

static bool server_has_wanted(const struct end *a, const struct end *b)
{
    (void)b;
    return a->frames >= wanted;
}

static void ask(struct end *server, nng_socket s, const char *question)
{
    char reply[64];
    size_t length = sizeof(reply);

    wanted = server->frames + 1;
    assert_int_equal(nng_send(s, (void *)question, strlen(question), 0), 0);
    end_pump(server, NULL, server_has_wanted); /* the echo has the request's own id */
    assert_int_equal(nng_recv(s, reply, &length, 0), 0);
    assert_int_equal(length, strlen(question));
    assert_memory_equal(reply, question, length);
}

static void expect_replies(struct end *server, const char *url)
{
    nng_socket s;

    assert_int_equal(nng_req0_open(&s), 0);
    assert_int_equal(nng_socket_set_ms(s, NNG_OPT_RECVTIMEO, 10000), 0);
    assert_int_equal(nng_dial(s, url, NULL, 0), 0);
    ask(server, s, "first question");
    ask(server, s, "second question");
    nng_close(s);
}

static void a_stock_req_socket_gets_its_replies_over_tcp(void **state)
{
    struct end server;
    char url[64];

    (void)state;
    end_open(&server, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    server.echo = true;
    end_url(&server, url);
    expect_replies(&server, url);
    end_close(&server);
}

static void a_stock_req_socket_gets_its_replies_over_ipc(void **state)
{
    char directory[] = "/tmp/channel.XXXXXX", url[80], path[64];
    struct end server;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/socket", directory);
    snprintf(url, sizeof(url), "ipc://%s", path);
    end_open(&server, &usual);
    end_listen(&server, url);
    server.echo = true;
    expect_replies(&server, url);
    end_close(&server);
    unlink(path);
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stock_req_socket_gets_its_replies_over_tcp),
        cmocka_unit_test(a_stock_req_socket_gets_its_replies_over_ipc),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
