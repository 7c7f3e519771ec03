/* channel: peers that are broken or hostile are cut off and counted, and leave nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/common/end.h"

enum { FRAME_MAX = 1 << 20, QUEUE_MAX = 4 << 20, CHURN = 2000 };

static const struct channel_options usual = {
    .frame_bytes_max = FRAME_MAX,
    .queued_bytes_max = QUEUE_MAX,
    .connections_max = 1000,
};

static struct slice text(const char *s)
{
    return (struct slice){(const uint8_t *)s, strlen(s)};
}

static bool first_is_down(const struct end *a, const struct end *b)
{
    (void)b;
    return a->downs >= 1;
}

/* ---- one at a time ---- */

static int connect_raw(const struct end *server)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(channel_listener_port(server->listener)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

static const uint8_t req_greeting[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};

static bool first_is_up(const struct end *a, const struct end *b)
{
    (void)b;
    return a->ups >= 1;
}

static bool has_counted_a_bad_greeting(const struct end *a, const struct end *b)
{
    const struct channel_counters n = channel_hub_counters(a->hub);

    (void)b;
    return n.bad_greeting == 1 && n.open == 0;
}

static void a_bad_greeting_ends_the_connection_unannounced(void **state)
{
    struct end server;
    int fd;

    (void)state;
    end_open(&server, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    fd = connect_raw(&server);
    assert_int_equal(write(fd, "GET / HT", 8), 8);
    end_pump(&server, NULL, has_counted_a_bad_greeting);
    assert_int_equal(server.ups, 0);
    assert_int_equal(server.downs, 0);
    close(fd);
    end_close(&server);
}

static void expect_head_refused(const uint8_t head[12], enum status why,
                                uint64_t (*counted)(struct channel_counters n))
{
    struct end server;
    int fd;

    end_open(&server, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    fd = connect_raw(&server);
    assert_int_equal(write(fd, req_greeting, 8), 8);
    end_pump(&server, NULL, first_is_up);
    assert_int_equal(write(fd, head, 12), 12);
    end_pump(&server, NULL, first_is_down);
    assert_int_equal(server.last_why, why);
    assert_int_equal(counted(channel_hub_counters(server.hub)), 1);
    assert_int_equal(server.frames, 0);
    close(fd);
    end_close(&server);
}

static uint64_t too_big(struct channel_counters n)
{
    return n.too_big;
}

static uint64_t bad_head(struct channel_counters n)
{
    return n.bad_head;
}

static void a_frame_that_claims_too_much_is_refused_before_memory_is_taken(void **state)
{
    const uint8_t one_over[12] = {0, 0, 0, 0, 0, 0x10, 0, 5, 0x80, 0, 0, 1};
    const uint8_t whole_world[12] = {255, 255, 255, 255, 255, 255, 255, 255, 0x80, 0, 0, 1};

    (void)state;
    expect_head_refused(one_over, ST_TOO_BIG, too_big);
    expect_head_refused(whole_world, ST_TOO_BIG, too_big);
}

static void a_frame_without_a_request_id_is_refused(void **state)
{
    const uint8_t no_room_for_it[12] = {0, 0, 0, 0, 0, 0, 0, 3, 0x80, 0, 0, 1};
    const uint8_t no_high_bit[12] = {0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1};

    (void)state;
    expect_head_refused(no_room_for_it, ST_INVALID, bad_head);
    expect_head_refused(no_high_bit, ST_INVALID, bad_head);
}

static void a_peer_that_leaves_in_the_middle_of_a_frame_is_reported_down(void **state)
{
    const uint8_t part[14] = {0, 0, 0, 0, 0, 0, 0, 100, 0x80, 0, 0, 1, 'a', 'b'};
    struct end server;
    int fd;

    (void)state;
    end_open(&server, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    fd = connect_raw(&server);
    assert_int_equal(write(fd, req_greeting, 8), 8);
    assert_int_equal(write(fd, part, sizeof(part)), sizeof(part));
    end_pump(&server, NULL, first_is_up);
    close(fd);
    end_pump(&server, NULL, first_is_down);
    assert_int_equal(server.last_why, ST_CLOSED);
    assert_int_equal(server.frames, 0);
    end_close(&server);
}

/* ---- thousands ---- */

static bool nothing_is_open(const struct end *a, const struct end *b)
{
    return channel_hub_counters(a->hub).open == 0 && channel_hub_counters(b->hub).open == 0;
}

/* Rude in turn: closes politely, resets, sends rubbish, leaves before or in the greeting. */
static void misbehave(const struct end *server, unsigned i)
{
    const struct linger reset = {.l_onoff = 1, .l_linger = 0};
    int fd = connect_raw(server);

    if (i % 5 != 1)
        (void)!write(fd, i % 5 == 2 ? (const uint8_t *)"GET / HT" : req_greeting, 8 - i % 2);
    if (i % 3 == 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    if (i % 7 == 0)
        (void)shutdown(fd, SHUT_WR);
    close(fd);
}

static bool second_is_down_for_good(const struct end *a, const struct end *b)
{
    (void)a;
    return b->downs > 0 && channel_hub_counters(b->hub).open == 0;
}

/* Sockets that nobody has accepted yet are open as well: they are closed soon after. */
static bool only_the_listener_is_left(const struct end *a, const struct end *b)
{
    return nothing_is_open(a, b) && end_open_sockets() == 1;
}

static void churn_leaves_no_connection_and_no_descriptor_behind(void **state)
{
    struct end server, client;
    struct channel_counters n;
    char url[64];

    (void)state;
    end_open(&server, &usual);
    end_open(&client, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    end_url(&server, url);
    server.echo = true;
    for (unsigned i = 0; i < CHURN; i++) {
        struct channel *c = NULL;

        misbehave(&server, i);
        end_drain(&server);
        if (i % 10 != 0)
            continue;
        client.downs = 0;
        assert_int_equal(channel_dial(client.hub, url, &c), ST_OK);
        assert_int_equal(channel_send(c, text("short life")), ST_OK);
        if (i % 20 == 0)
            end_drain(&client);
        channel_close(c);
        end_pump(&server, &client, second_is_down_for_good);
    }
    end_pump(&server, &client, only_the_listener_is_left);
    n = channel_hub_counters(server.hub);
    assert_int_equal(n.open, n.accepted + n.dialed - n.closed);
    assert_int_equal(n.open, 0);
    assert_true(n.accepted > CHURN / 2);
    end_close(&client);
    end_close(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_greeting_ends_the_connection_unannounced),
        cmocka_unit_test(a_frame_that_claims_too_much_is_refused_before_memory_is_taken),
        cmocka_unit_test(a_frame_without_a_request_id_is_refused),
        cmocka_unit_test(a_peer_that_leaves_in_the_middle_of_a_frame_is_reported_down),
        cmocka_unit_test(churn_leaves_no_connection_and_no_descriptor_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
