/* channel_hub - what channel.c and channel_hub.c know of each other. Private to channel.
 * Locks: a channel's lock comes before its hub's and before the queue's. */
#ifndef COMMON_CHANNEL_HUB_H
#define COMMON_CHANNEL_HUB_H

#include <pthread.h>
#include <stdbool.h>

#include "common/channel.h"
#include "common/channel_frame.h"
#include "common/channel_queue.h"
#include "common/clock.h"
#include "common/stream.h"

enum receive_phase { RECEIVE_CONNECTING, RECEIVE_GREETING, RECEIVE_HEAD, RECEIVE_BODY };

struct channel {
    struct channel_hub *hub;
    struct channel *previous, *next; /* the hub's list, under its lock */
    struct stream *stream;
    enum frame_side side;

    /* loop thread */
    void *owner;
    char peer[STREAM_PEER_MAX];
    uint32_t reply_id; /* of the frame handed up last */
    bool announced; /* `up` was called */
    bool shut; /* by its owner: nothing is handed up any more but `down` */

    pthread_mutex_t lock; /* all below */
    bool rx_busy, tx_busy; /* an operation is under way, or its callback has not yet ended */
    bool finishing; /* closed by its owner, but with bytes to send until linger_end */
    bool closing; /* nothing is started any more */
    bool paused;
    enum status why; /* first reason to close */
    struct mono linger_end;

    enum receive_phase phase;
    uint8_t head[FRAME_HEAD_MAX];
    uint8_t *into; /* where the current piece goes */
    size_t have, want; /* bytes of the current piece */
    struct channel_event *incoming; /* RECEIVE_BODY */
    size_t received_bytes; /* queued for the loop */

    struct outgoing *first, *last; /* the first one is being sent */
    size_t sent, queued_bytes;

    struct channel_event up_event, down_event; /* so that these two never want memory */
};

struct channel_listener {
    struct channel_listener *next;
    struct channel_hub *hub;
    struct acceptor *acceptor;
};

struct channel_hub {
    struct channel_options options;
    struct channel_queue queue;
    struct channel_listener *listeners; /* loop thread */
    pthread_mutex_t lock; /* all below */
    struct channel *channels;
    struct channel_counters counters;
};

/* Takes the stream over, also on failure. */
enum status channel_new_take(struct channel_hub *h, struct stream **stream, enum frame_side side,
                             struct channel **out);
void channel_free(struct channel *c); /* loop thread, or before it was started */
void channel_start(struct channel *c); /* connects, or greets at once on the listening side */
void channel_abort(struct channel *c); /* closes without waiting for what is queued */
/* The loop has consumed a frame of `bytes`: reading goes on if that was what held it up. */
void channel_consumed(struct channel *c, size_t bytes);

#endif
