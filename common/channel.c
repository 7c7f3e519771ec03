/* One connection: the greeting, frames in, frames out, and how it ends. */
#include "common/channel.h"

#include <stdlib.h>

#include "common/channel_hub.h"

enum {
    CONNECT_MS = 10000,
    GREETING_MS = 10000, /* for the peer's first 8 bytes */
    LINGER_MS = 1000, /* what was sent before channel_close may still go out */
    RECEIVED_BYTES_MAX = 512 << 10, /* of one channel, not yet drained; then reading stops */
};

/* ---- below here the channel's lock is held, up to the next line like this ---- */

static void begin_close(struct channel *c, enum status why)
{
    if (c->closing)
        return;
    c->closing = true;
    c->why = why;
    stream_close(c->stream);
}

/* Comes last in whatever may have ended an operation: after it the loop may free the channel. */
static void report_when_quiet(struct channel *c)
{
    if (!c->closing || c->rx_busy || c->tx_busy || c->down_event.channel != NULL)
        return;
    c->down_event = (struct channel_event){.kind = CHANNEL_DOWN, .channel = c};
    channel_queue_post(&c->hub->queue, &c->down_event);
}

static void count(struct channel *c, uint64_t *counter, uint64_t more)
{
    pthread_mutex_lock(&c->hub->lock);
    *counter += more;
    pthread_mutex_unlock(&c->hub->lock);
}

static void expect(struct channel *c, enum receive_phase phase, uint8_t *into, size_t bytes)
{
    c->phase = phase;
    c->into = into;
    c->have = 0;
    c->want = bytes;
}

static void expect_head(struct channel *c)
{
    expect(c, RECEIVE_HEAD, c->head, frame_head_bytes(stream_is_ipc(c->stream)));
}

static void start_receive(struct channel *c)
{
    if (c->closing || c->finishing || c->rx_busy || c->paused)
        return;
    if (c->received_bytes > RECEIVED_BYTES_MAX)
        return;
    c->rx_busy = true;
    stream_receive(c->stream, c->into + c->have, c->want - c->have,
                   c->phase == RECEIVE_GREETING ? GREETING_MS : STREAM_FOREVER);
}

static unsigned send_timeout(const struct channel *c)
{
    const struct mono now = clock_mono();

    if (!c->finishing)
        return STREAM_FOREVER;
    return (unsigned)(mono_since(c->linger_end, now) / NS_PER_MS) + 1;
}

static void start_send(struct channel *c)
{
    if (c->closing || c->tx_busy || c->first == NULL || c->phase == RECEIVE_CONNECTING)
        return;
    c->tx_busy = true;
    stream_send(c->stream, c->first->bytes + c->sent, c->first->length - c->sent, send_timeout(c));
}

static void append_outgoing(struct channel *c, struct outgoing *o)
{
    if (c->first == NULL)
        c->first = o;
    else
        c->last->next = o;
    c->last = o;
    c->queued_bytes += o->length;
}

static void prepend_greeting(struct channel *c, struct outgoing *greeting)
{
    greeting->next = c->first;
    c->first = greeting;
    if (c->last == NULL)
        c->last = greeting;
    c->queued_bytes += greeting->length;
}

static void drop_first_outgoing(struct channel *c)
{
    struct outgoing *done = c->first;

    c->first = done->next;
    if (c->first == NULL)
        c->last = NULL;
    c->queued_bytes -= done->length;
    c->sent = 0;
    free(done);
}

/* Both sides speak at once; frames may follow right behind the greeting. */
static void start_greeting(struct channel *c)
{
    struct outgoing *greeting = outgoing_greeting_new(c->side);

    if (greeting == NULL) {
        begin_close(c, ST_NOMEM);
        return;
    }
    prepend_greeting(c, greeting);
    expect(c, RECEIVE_GREETING, c->head, FRAME_GREETING_BYTES);
    start_receive(c);
    start_send(c);
}

static void handle_greeting(struct channel *c)
{
    if (!frame_greeting_matches(c->side, c->head)) {
        count(c, &c->hub->counters.bad_greeting, 1);
        begin_close(c, ST_INVALID);
        return;
    }
    c->up_event = (struct channel_event){.kind = CHANNEL_UP, .channel = c};
    channel_queue_post(&c->hub->queue, &c->up_event);
    expect_head(c);
}

static void handle_body(struct channel *c)
{
    struct channel_event *event = c->incoming;

    count(c, &c->hub->counters.frames_in, 1);
    count(c, &c->hub->counters.bytes_in, event->length);
    c->incoming = NULL;
    c->received_bytes += event->length;
    channel_queue_post(&c->hub->queue, event);
    expect_head(c);
}

static void handle_head(struct channel *c)
{
    struct channel_counters *counters = &c->hub->counters;
    struct frame_head head;
    enum status st = frame_head_decode(stream_is_ipc(c->stream), c->head,
                                       c->hub->options.frame_bytes_max, &head);

    if (st != ST_OK) {
        count(c, st == ST_TOO_BIG ? &counters->too_big : &counters->bad_head, 1);
        begin_close(c, st);
        return;
    }
    c->incoming = channel_frame_event_new(c, head.id, head.body_bytes);
    if (c->incoming == NULL) {
        begin_close(c, ST_NOMEM);
        return;
    }
    expect(c, RECEIVE_BODY, c->incoming->body, head.body_bytes);
    if (head.body_bytes == 0)
        handle_body(c);
}

static void handle_piece(struct channel *c)
{
    switch (c->phase) {
    case RECEIVE_CONNECTING:
        start_greeting(c);
        break;
    case RECEIVE_GREETING:
        handle_greeting(c);
        break;
    case RECEIVE_HEAD:
        handle_head(c);
        break;
    case RECEIVE_BODY:
        handle_body(c);
        break;
    }
}

static void take_sent(struct channel *c, size_t bytes)
{
    struct channel_counters *counters = &c->hub->counters;

    c->sent += bytes;
    if (c->sent < c->first->length)
        return;
    if (c->first->length > FRAME_GREETING_BYTES) { /* every frame is longer than a greeting */
        count(c, &counters->frames_out, 1);
        count(c, &counters->bytes_out, c->first->length);
    }
    drop_first_outgoing(c);
}

/* ---- nng's threads: without the lock ---- */

static void on_received(void *arg, enum status st, size_t bytes)
{
    struct channel *c = arg;

    pthread_mutex_lock(&c->lock);
    c->rx_busy = false;
    c->have += bytes;
    if (st != ST_OK)
        begin_close(c, st);
    else if (c->have == c->want && !c->closing && !c->finishing)
        handle_piece(c);
    start_receive(c);
    report_when_quiet(c);
    pthread_mutex_unlock(&c->lock);
}

static void on_sent(void *arg, enum status st, size_t bytes)
{
    struct channel *c = arg;

    pthread_mutex_lock(&c->lock);
    c->tx_busy = false;
    if (st == ST_OK)
        take_sent(c, bytes);
    else if (!c->finishing)
        begin_close(c, st);
    else if (st != ST_BAD_STATE) /* channel_close cancels a send to set it a timeout */
        begin_close(c, ST_CLOSED);
    if (c->finishing && c->first == NULL)
        begin_close(c, ST_CLOSED);
    start_send(c);
    report_when_quiet(c);
    pthread_mutex_unlock(&c->lock);
}

/* ---- for the hub ---- */

enum status channel_new_take(struct channel_hub *h, struct stream **stream, enum frame_side side,
                             struct channel **out)
{
    struct channel *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        stream_free(*stream);
        *stream = NULL;
        return ST_NOMEM;
    }
    c->hub = h;
    c->side = side;
    c->reply_id = FRAME_ID_DEFAULT;
    c->stream = *stream;
    *stream = NULL;
    pthread_mutex_init(&c->lock, NULL);
    stream_name_peer(c->stream, c->peer);
    stream_set_handler(c->stream, &(struct stream_handler){
                                      .received = on_received,
                                      .sent = on_sent,
                                      .arg = c,
                                  });
    *out = c;
    return ST_OK;
}

void channel_free(struct channel *c)
{
    if (c == NULL)
        return;
    stream_free(c->stream);
    while (c->first != NULL)
        drop_first_outgoing(c);
    free(c->incoming);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

void channel_start(struct channel *c)
{
    pthread_mutex_lock(&c->lock);
    if (c->side == FRAME_DIALER) {
        expect(c, RECEIVE_CONNECTING, NULL, 0);
        c->rx_busy = true;
        stream_connect(c->stream, CONNECT_MS);
    } else {
        start_greeting(c);
        report_when_quiet(c);
    }
    pthread_mutex_unlock(&c->lock);
}

void channel_abort(struct channel *c)
{
    pthread_mutex_lock(&c->lock);
    begin_close(c, ST_CLOSED);
    report_when_quiet(c);
    pthread_mutex_unlock(&c->lock);
}

void channel_consumed(struct channel *c, size_t bytes)
{
    pthread_mutex_lock(&c->lock);
    c->received_bytes -= bytes;
    start_receive(c);
    pthread_mutex_unlock(&c->lock);
}

/* ---- for everyone; loop thread ---- */

enum status channel_send(struct channel *c, struct slice body)
{
    const struct channel_options *options = &c->hub->options;
    enum status st = ST_OK;
    struct outgoing *o;

    if (body.length > options->frame_bytes_max)
        return ST_TOO_BIG;
    o = outgoing_new(stream_is_ipc(c->stream), c->reply_id, body);
    if (o == NULL)
        return ST_NOMEM;
    pthread_mutex_lock(&c->lock);
    if (c->closing || c->finishing) {
        st = ST_CLOSED;
    } else if (c->queued_bytes + o->length > options->queued_bytes_max) {
        st = ST_FULL;
    } else {
        append_outgoing(c, o);
        o = NULL;
        start_send(c);
    }
    pthread_mutex_unlock(&c->lock);
    free(o);
    return st;
}

size_t channel_queued_bytes(const struct channel *c)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&c->lock;
    size_t bytes;

    pthread_mutex_lock(lock);
    bytes = c->queued_bytes;
    pthread_mutex_unlock(lock);
    return bytes;
}

void channel_pause(struct channel *c, bool paused)
{
    pthread_mutex_lock(&c->lock);
    c->paused = paused;
    if (c->phase != RECEIVE_CONNECTING)
        start_receive(c);
    pthread_mutex_unlock(&c->lock);
}

void channel_close(struct channel *c)
{
    pthread_mutex_lock(&c->lock);
    c->shut = true;
    if (c->first == NULL || c->phase == RECEIVE_CONNECTING) {
        begin_close(c, ST_CLOSED);
    } else if (!c->closing && !c->finishing) {
        c->finishing = true;
        c->linger_end = mono_after(clock_mono(), LINGER_MS * NS_PER_MS);
        stream_cancel_send(c->stream); /* goes on with a timeout */
    }
    report_when_quiet(c);
    pthread_mutex_unlock(&c->lock);
}

void channel_set_owner(struct channel *c, void *owner)
{
    c->owner = owner;
}

void *channel_owner(const struct channel *c)
{
    return c->owner;
}

const char *channel_peer(const struct channel *c)
{
    return c->peer;
}
