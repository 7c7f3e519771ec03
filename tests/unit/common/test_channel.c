/* channel: frames arrive whole and in order, within limits, and connections end as they should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/common/end.h"

enum { FRAME_MAX = 1 << 20, QUEUE_MAX = 4 << 20, MANY = 200 };

static const struct channel_options usual = {
    .frame_bytes_max = FRAME_MAX,
    .queued_bytes_max = QUEUE_MAX,
    .connections_max = 1000,
};

struct pair {
    struct end server, client;
    struct channel *channel; /* the client's */
};

static struct slice text(const char *s)
{
    return (struct slice){(const uint8_t *)s, strlen(s)};
}

static bool both_up(const struct end *a, const struct end *b)
{
    return a->ups >= 1 && b->ups >= 1;
}

static bool second_is_down(const struct end *a, const struct end *b)
{
    (void)a;
    return b->downs >= 1;
}

static bool first_is_down(const struct end *a, const struct end *b)
{
    (void)b;
    return a->downs >= 1;
}

static bool both_down(const struct end *a, const struct end *b)
{
    return a->downs >= 1 && b->downs >= 1;
}

static bool second_has_frame(const struct end *a, const struct end *b)
{
    (void)a;
    return b->frames >= 1;
}

static uint32_t wanted; /* frames */

static bool second_has_wanted(const struct end *a, const struct end *b)
{
    (void)a;
    return b->frames >= wanted;
}

static void open_pair(struct pair *p, const struct channel_options *options)
{
    char url[64];

    end_open(&p->server, options);
    end_open(&p->client, options);
    end_listen(&p->server, "tcp://127.0.0.1:0");
    assert_int_equal(channel_dial(p->client.hub, end_url(&p->server, url), &p->channel), ST_OK);
    end_pump(&p->server, &p->client, both_up);
}

static void close_pair(struct pair *p)
{
    end_close(&p->client);
    end_close(&p->server);
}

/* ---- frames ---- */

static void a_frame_comes_back_from_an_echo(void **state)
{
    struct pair p;

    (void)state;
    open_pair(&p, &usual);
    p.server.echo = true;
    assert_int_equal(channel_send(p.channel, text("hello")), ST_OK);
    end_pump(&p.server, &p.client, second_has_frame);
    assert_int_equal(p.client.last_length, 5);
    assert_memory_equal(p.client.last, "hello", 5);
    assert_int_equal(channel_hub_counters(p.server.hub).frames_in, 1);
    assert_int_equal(channel_queued_bytes(p.channel), 0);
    close_pair(&p);
}

static void an_empty_frame_and_the_longest_one_arrive(void **state)
{
    static uint8_t longest[FRAME_MAX];
    struct pair p;

    (void)state;
    open_pair(&p, &usual);
    p.server.echo = true;
    assert_int_equal(channel_send(p.channel, (struct slice){longest, 0}), ST_OK);
    assert_int_equal(channel_send(p.channel, (struct slice){longest, sizeof(longest)}), ST_OK);
    wanted = 2;
    end_pump(&p.server, &p.client, second_has_wanted);
    assert_int_equal(p.client.frame_bytes, sizeof(longest));
    close_pair(&p);
}

static void frames_sent_before_the_connection_stands_wait_for_it(void **state)
{
    struct end server, client;
    struct channel *c = NULL;
    char url[64];

    (void)state;
    end_open(&server, &usual);
    end_open(&client, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    server.echo = true;
    assert_int_equal(channel_dial(client.hub, end_url(&server, url), &c), ST_OK);
    assert_int_equal(channel_send(c, text("early")), ST_OK);
    end_pump(&server, &client, second_has_frame);
    assert_memory_equal(client.last, "early", 5);
    end_close(&client);
    end_close(&server);
}

static bool all_echoed(const struct end *a, const struct end *b)
{
    (void)a;
    return b->frames >= MANY;
}

static bool all_up(const struct end *a, const struct end *b)
{
    return a->ups >= MANY && b->ups >= MANY;
}

static void many_connections_are_served_at_once(void **state)
{
    struct end server, client;
    struct channel *c[MANY];
    char url[64];

    (void)state;
    end_open(&server, &usual);
    end_open(&client, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    server.echo = true;
    end_url(&server, url);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(channel_dial(client.hub, url, &c[i]), ST_OK);
    end_pump(&server, &client, all_up);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(channel_send(c[i], text("x")), ST_OK);
    end_pump(&server, &client, all_echoed);
    assert_int_equal(channel_hub_counters(server.hub).open, MANY);
    assert_int_equal(client.downs, 0);
    end_close(&client);
    end_close(&server);
}

static void ipc_carries_the_same_frames(void **state)
{
    char directory[] = "/tmp/channel.XXXXXX", url[80], path[64];
    struct end server, client;
    struct channel *c = NULL;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/socket", directory);
    snprintf(url, sizeof(url), "ipc://%s", path);
    end_open(&server, &usual);
    end_open(&client, &usual);
    end_listen(&server, url);
    server.echo = true;
    assert_int_equal(channel_listener_port(server.listener), 0);
    assert_int_equal(channel_dial(client.hub, url, &c), ST_OK);
    assert_int_equal(channel_send(c, text("by path")), ST_OK);
    end_pump(&server, &client, second_has_frame);
    assert_memory_equal(client.last, "by path", 7);
    assert_string_equal(channel_peer(c), "ipc");
    end_close(&client);
    end_close(&server);
    unlink(path);
    rmdir(directory);
}

/* ---- limits ---- */

static void a_full_send_queue_says_so_and_sends_what_it_took(void **state)
{
    static uint8_t body[64 << 10];
    struct channel_options small = usual;
    struct pair p;
    unsigned taken = 0;
    enum status st;

    (void)state;
    small.queued_bytes_max = 1 << 20;
    open_pair(&p, &small);
    channel_pause(p.server.up[0], true);
    while ((st = channel_send(p.channel, (struct slice){body, sizeof(body)})) == ST_OK)
        taken++;
    assert_int_equal(st, ST_FULL);
    assert_true(channel_queued_bytes(p.channel) <= small.queued_bytes_max);
    assert_true(taken >= 15);

    channel_pause(p.server.up[0], false);
    wanted = taken;
    end_pump(&p.client, &p.server, second_has_wanted);
    assert_int_equal(p.server.frame_bytes, (uint64_t)taken * sizeof(body));
    close_pair(&p);
}

static void a_frame_over_the_limit_is_not_sent(void **state)
{
    static uint8_t body[FRAME_MAX + 1];
    struct pair p;

    (void)state;
    open_pair(&p, &usual);
    assert_int_equal(channel_send(p.channel, (struct slice){body, sizeof(body)}), ST_TOO_BIG);
    close_pair(&p);
}

static void connections_over_the_limit_are_refused_and_counted(void **state)
{
    struct channel_options two = usual;
    struct channel *extra = NULL;
    struct pair p;
    char url[64];

    (void)state;
    two.connections_max = 1;
    open_pair(&p, &two);
    assert_int_equal(channel_dial(p.client.hub, end_url(&p.server, url), &extra), ST_FULL);
    channel_close(p.channel);
    end_pump(&p.server, &p.client, both_down);

    end_close(&p.client);
    end_open(&p.client, &usual);
    assert_int_equal(channel_dial(p.client.hub, url, &extra), ST_OK);
    assert_int_equal(channel_dial(p.client.hub, url, &extra), ST_OK);
    end_pump(&p.server, &p.client, second_is_down);
    assert_int_equal(channel_hub_counters(p.server.hub).refused_full, 1);
    close_pair(&p);
}

static void a_paused_channel_holds_the_sender_up_until_it_resumes(void **state)
{
    static uint8_t body[64 << 10];
    struct pair p;
    uint32_t before;
    unsigned sent = 0;

    (void)state;
    open_pair(&p, &usual);
    channel_pause(p.server.up[0], true);
    while (channel_send(p.channel, (struct slice){body, sizeof(body)}) == ST_OK)
        sent++;
    end_drain(&p.server);
    before = p.server.frames;
    assert_true(before <= 1); /* one may have been on its way */
    assert_true(channel_queued_bytes(p.channel) > 0);

    channel_pause(p.server.up[0], false);
    wanted = sent;
    end_pump(&p.client, &p.server, second_has_wanted);
    assert_int_equal(p.server.frame_bytes, (uint64_t)sent * sizeof(body));
    close_pair(&p);
}

/* ---- the end of a connection ---- */

static void a_close_by_the_client_is_seen_by_both(void **state)
{
    struct pair p;

    (void)state;
    open_pair(&p, &usual);
    channel_close(p.channel);
    channel_close(p.channel);
    end_pump(&p.server, &p.client, both_down);
    assert_int_equal(p.client.last_why, ST_CLOSED);
    assert_int_equal(p.server.last_why, ST_CLOSED);
    assert_int_equal(channel_hub_counters(p.server.hub).open, 0);
    close_pair(&p);
}

static void a_close_by_the_server_is_seen_by_both(void **state)
{
    struct pair p;

    (void)state;
    open_pair(&p, &usual);
    channel_close(p.server.up[0]);
    end_pump(&p.server, &p.client, both_down);
    assert_int_equal(p.client.last_why, ST_CLOSED);
    assert_int_equal(p.server.last_why, ST_CLOSED);
    close_pair(&p);
}

static void what_was_sent_before_a_close_still_arrives(void **state)
{
    static uint8_t body[FRAME_MAX];
    struct pair p;

    (void)state;
    open_pair(&p, &usual);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(channel_send(p.channel, (struct slice){body, sizeof(body)}), ST_OK);
    channel_close(p.channel);
    assert_int_equal(channel_send(p.channel, text("late")), ST_CLOSED);
    end_pump(&p.server, &p.client, both_down);
    assert_int_equal(p.server.frames, 3);
    close_pair(&p);
}

static void a_close_does_not_wait_for_ever_for_a_peer_that_does_not_read(void **state)
{
    static uint8_t body[FRAME_MAX];
    struct pair p;

    (void)state;
    open_pair(&p, &usual);
    channel_pause(p.server.up[0], true);
    while (channel_send(p.channel, (struct slice){body, sizeof(body)}) == ST_OK)
        continue;
    channel_close(p.channel);
    end_pump(&p.server, &p.client, second_is_down);
    assert_int_equal(p.client.last_why, ST_CLOSED);
    close_pair(&p);
}

static void a_dial_to_nobody_reports_down(void **state)
{
    struct end server, client;
    struct channel *c = NULL;
    char url[64];

    (void)state;
    end_open(&server, &usual);
    end_listen(&server, "tcp://127.0.0.1:0");
    end_url(&server, url);
    end_close(&server); /* a port that was free a moment ago */
    end_open(&client, &usual);
    assert_int_equal(channel_dial(client.hub, url, &c), ST_OK);
    end_pump(&client, NULL, first_is_down);
    assert_int_equal(client.ups, 0);
    assert_int_equal(client.last_why, ST_CLOSED);
    end_close(&client);
}

static void addresses_that_make_no_sense_are_refused_at_once(void **state)
{
    struct channel_listener *l = NULL;
    struct channel *c = NULL;
    struct pair p;
    char url[64];

    (void)state;
    open_pair(&p, &usual);
    assert_int_equal(channel_dial(p.client.hub, "http://127.0.0.1:1", &c), ST_INVALID);
    assert_int_equal(channel_dial(p.client.hub, "", &c), ST_INVALID);
    assert_int_equal(channel_listen(p.server.hub, "ws://127.0.0.1:0", &l), ST_INVALID);
    assert_int_equal(channel_listen(p.server.hub, end_url(&p.server, url), &l), ST_EXISTS);
    assert_null(l);
    assert_null(c);
    close_pair(&p);
}

static void a_hub_can_be_freed_in_the_middle_of_traffic(void **state)
{
    static uint8_t body[32 << 10];
    struct end server, client;
    char url[64];

    (void)state;
    for (unsigned round = 0; round < 5; round++) {
        struct channel *c[20];

        end_open(&server, &usual);
        end_open(&client, &usual);
        end_listen(&server, "tcp://127.0.0.1:0");
        server.echo = true;
        end_url(&server, url);
        for (unsigned i = 0; i < 20; i++) {
            assert_int_equal(channel_dial(client.hub, url, &c[i]), ST_OK);
            for (unsigned n = 0; n < 50; n++)
                assert_int_equal(channel_send(c[i], (struct slice){body, sizeof(body)}), ST_OK);
        }
        end_pump(&server, &client, second_has_frame);
        if (round % 2 == 0) {
            end_close(&server);
            end_close(&client);
        } else {
            end_close(&client);
            end_close(&server);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_comes_back_from_an_echo),
        cmocka_unit_test(an_empty_frame_and_the_longest_one_arrive),
        cmocka_unit_test(frames_sent_before_the_connection_stands_wait_for_it),
        cmocka_unit_test(many_connections_are_served_at_once),
        cmocka_unit_test(ipc_carries_the_same_frames),
        cmocka_unit_test(a_full_send_queue_says_so_and_sends_what_it_took),
        cmocka_unit_test(a_frame_over_the_limit_is_not_sent),
        cmocka_unit_test(connections_over_the_limit_are_refused_and_counted),
        cmocka_unit_test(a_paused_channel_holds_the_sender_up_until_it_resumes),
        cmocka_unit_test(a_close_by_the_client_is_seen_by_both),
        cmocka_unit_test(a_close_by_the_server_is_seen_by_both),
        cmocka_unit_test(what_was_sent_before_a_close_still_arrives),
        cmocka_unit_test(a_close_does_not_wait_for_ever_for_a_peer_that_does_not_read),
        cmocka_unit_test(a_dial_to_nobody_reports_down),
        cmocka_unit_test(addresses_that_make_no_sense_are_refused_at_once),
        cmocka_unit_test(a_hub_can_be_freed_in_the_middle_of_traffic),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
