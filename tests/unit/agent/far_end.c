#include "tests/unit/agent/far_end.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void ring(void *arg)
{
    (void)eventfd_write(((const struct far_end *)arg)->wake_fd, 1);
}

static void on_up(void *arg, struct channel *c)
{
    struct far_end *f = arg;

    f->channel = c;
    f->ups++;
}

static void on_down(void *arg, struct channel *c, enum status why)
{
    struct far_end *f = arg;

    (void)why;
    f->downs++;
    if (f->channel == c)
        f->channel = NULL;
}

static void keep_chunk(struct far_end *f, const struct chunk_message *m)
{
    assert_true(f->chunk_count < FAR_END_CHUNKS_MAX);
    f->chunk_numbers[f->chunk_count] = m->number;
    f->chunk_first_bytes[f->chunk_count] = m->bytes.bytes[0];
    f->chunk_count++;
}

static void keep(struct far_end *f, const struct message *m)
{
    if (m->type == MESSAGE_HELLO) {
        f->hello_labels = m->hello.labels.count;
        f->hello = m->hello;
        f->hello.labels = (struct labels){0};
    } else if (m->type == MESSAGE_HEARTBEAT) {
        f->heartbeat = m->heartbeat;
    } else if (m->type == MESSAGE_CHUNK) {
        keep_chunk(f, &m->chunk);
    } else if (m->type == MESSAGE_REFUSAL) {
        f->refusal = m->refusal;
    } else if (m->type == MESSAGE_PLAN_ACK) {
        f->plan_ack = m->plan_ack;
    } else if (m->type == MESSAGE_PROFILER_STATE) {
        f->report = m->profiler_state;
    }
}

static void on_frame(void *arg, struct channel *c, struct slice body)
{
    struct far_end *f = arg;
    struct message m;
    const char *why = "";

    (void)c;
    assert_int_equal(message_decode(body, &m, &why), ST_OK); /* an agent says nothing malformed */
    f->heard[m.type]++;
    keep(f, &m);
    message_deinit(&m);
}

void far_end_open(struct far_end *f)
{
    struct channel_options options = {.frame_bytes_max = MESSAGE_BYTES_MAX,
                                      .queued_bytes_max = (size_t)4 * MESSAGE_BYTES_MAX,
                                      .connections_max = 10,
                                      .wake = ring,
                                      .arg = f};

    memset(f, 0, sizeof(*f));
    f->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(f->wake_fd >= 0);
    assert_int_equal(wire_writer_new(MESSAGE_BYTES_MAX, &f->writer), ST_OK);
    assert_int_equal(channel_hub_new(&options, &f->hub), ST_OK);
    assert_int_equal(channel_listen(f->hub, "tcp://127.0.0.1:0", &f->listener), ST_OK);
}

void far_end_close(struct far_end *f)
{
    channel_hub_free(f->hub);
    wire_writer_free(f->writer);
    close(f->wake_fd);
}

void far_end_url(const struct far_end *f, char out[64])
{
    (void)snprintf(out, 64, "tcp://127.0.0.1:%u", channel_listener_port(f->listener));
}

void far_end_drain(struct far_end *f)
{
    const struct channel_handler handler = {on_up, on_frame, on_down, f};
    eventfd_t rings;

    (void)eventfd_read(f->wake_fd, &rings);
    channel_hub_drain(f->hub, &handler);
}

void far_end_say_bytes(struct far_end *f, struct slice body)
{
    assert_non_null(f->channel);
    assert_int_equal(channel_send(f->channel, body), ST_OK);
}

void far_end_say(struct far_end *f, const struct message *m)
{
    assert_int_equal(message_encode(m, f->writer), ST_OK);
    far_end_say_bytes(f, wire_writer_bytes(f->writer));
}

void far_end_welcome(struct far_end *f, uint32_t window, struct wall now)
{
    const struct message m = {.type = MESSAGE_WELCOME,
                              .welcome = {.now = now,
                                          .window = window,
                                          .heartbeat_ns = FAR_END_HEARTBEAT_NS,
                                          .idle_limit_ns = FAR_END_IDLE_NS}};

    far_end_say(f, &m);
}

void far_end_acknowledge(struct far_end *f, uint64_t number, uint32_t window)
{
    const struct message m = {.type = MESSAGE_CHUNK_ACK,
                              .chunk_ack = {.number = number, .window = window}};

    far_end_say(f, &m);
}

void far_end_hang_up(struct far_end *f)
{
    assert_non_null(f->channel);
    channel_close(f->channel);
}
