/* The hub: who listens, who is connected, and the hand-over from nng's threads to the loop. */
#include "common/channel_hub.h"

#include <stdlib.h>

enum status channel_hub_new(const struct channel_options *options, struct channel_hub **out)
{
    struct channel_hub *h = calloc(1, sizeof(*h));

    if (h == NULL)
        return ST_NOMEM;
    h->options = *options;
    pthread_mutex_init(&h->lock, NULL);
    channel_queue_init(&h->queue, options->wake, options->arg);
    *out = h;
    return ST_OK;
}

/* ST_FULL: the hub has connections_max. */
static enum status link_channel(struct channel_hub *h, struct channel *c)
{
    enum status st = ST_OK;

    pthread_mutex_lock(&h->lock);
    if (h->counters.open >= h->options.connections_max) {
        h->counters.refused_full++;
        st = ST_FULL;
    } else {
        c->next = h->channels;
        if (c->next != NULL)
            c->next->previous = c;
        h->channels = c;
        h->counters.open++;
        if (c->side == FRAME_LISTENER)
            h->counters.accepted++;
        else
            h->counters.dialed++;
    }
    pthread_mutex_unlock(&h->lock);
    return st;
}

static void unlink_channel(struct channel_hub *h, struct channel *c)
{
    pthread_mutex_lock(&h->lock);
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        h->channels = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    h->counters.open--;
    h->counters.closed++;
    pthread_mutex_unlock(&h->lock);
}

/* On a thread of nng's. */
static void on_accepted(void *arg, struct stream *stream)
{
    struct channel_hub *h = arg;
    struct channel *c = NULL;

    if (channel_new_take(h, &stream, FRAME_LISTENER, &c) != ST_OK)
        return;
    if (link_channel(h, c) != ST_OK) {
        channel_free(c);
        return;
    }
    channel_start(c);
}

enum status channel_listen(struct channel_hub *h, const char *url, struct channel_listener **out)
{
    struct channel_listener *l = calloc(1, sizeof(*l));
    enum status st;

    if (l == NULL)
        return ST_NOMEM;
    l->hub = h;
    st = acceptor_open(url, on_accepted, h, &l->acceptor);
    if (st != ST_OK) {
        free(l);
        return st;
    }
    l->next = h->listeners;
    h->listeners = l;
    *out = l;
    return ST_OK;
}

uint16_t channel_listener_port(const struct channel_listener *l)
{
    return acceptor_port(l->acceptor);
}

enum status channel_dial(struct channel_hub *h, const char *url, struct channel **out)
{
    struct stream *stream = NULL;
    struct channel *c = NULL;
    enum status st = stream_new(url, &stream);

    if (st != ST_OK)
        return st;
    st = channel_new_take(h, &stream, FRAME_DIALER, &c);
    if (st != ST_OK)
        return st;
    st = link_channel(h, c);
    if (st != ST_OK) {
        channel_free(c);
        return st;
    }
    channel_start(c);
    *out = c;
    return ST_OK;
}

/* ---- what happened ---- */

static void deliver_frame(const struct channel_handler *handler, struct channel_event *event)
{
    struct channel *c = event->channel;
    const size_t bytes = event->length;

    if (!c->shut) {
        c->reply_id = event->id;
        handler->frame(handler->arg, c, (struct slice){event->body, bytes});
    }
    free(event);
    channel_consumed(c, bytes);
}

/* `handler` NULL: nobody listens any more. */
static void deliver(struct channel_hub *h, const struct channel_handler *handler,
                    struct channel_event *event)
{
    struct channel *c = event->channel;

    switch (event->kind) {
    case CHANNEL_UP:
        if (handler == NULL || c->shut)
            break;
        stream_name_peer(c->stream, c->peer);
        c->announced = true;
        handler->up(handler->arg, c);
        break;
    case CHANNEL_FRAME:
        if (handler != NULL)
            deliver_frame(handler, event);
        else
            free(event);
        break;
    case CHANNEL_DOWN:
        if (handler != NULL && (c->announced || c->side == FRAME_DIALER))
            handler->down(handler->arg, c, c->why);
        unlink_channel(h, c);
        channel_free(c);
        break;
    }
}

static void deliver_all(struct channel_hub *h, const struct channel_handler *handler,
                        struct channel_event *events)
{
    while (events != NULL) {
        struct channel_event *next = events->next;

        deliver(h, handler, events);
        events = next;
    }
}

void channel_hub_drain(struct channel_hub *h, const struct channel_handler *handler)
{
    deliver_all(h, handler, channel_queue_take(&h->queue));
}

struct channel_counters channel_hub_counters(const struct channel_hub *h)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&h->lock;
    struct channel_counters counters;

    pthread_mutex_lock(lock);
    counters = h->counters;
    pthread_mutex_unlock(lock);
    return counters;
}

static void close_listeners(struct channel_hub *h)
{
    while (h->listeners != NULL) {
        struct channel_listener *l = h->listeners;

        h->listeners = l->next;
        acceptor_close(l->acceptor);
        free(l);
    }
}

/* Listeners first: after that the list of channels only shrinks, and only here. */
void channel_hub_free(struct channel_hub *h)
{
    if (h == NULL)
        return;
    channel_queue_silence(&h->queue);
    close_listeners(h);
    for (struct channel *c = h->channels; c != NULL; c = c->next)
        channel_abort(c);
    while (h->channels != NULL)
        deliver_all(h, NULL, channel_queue_wait(&h->queue));
    channel_queue_deinit(&h->queue);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
