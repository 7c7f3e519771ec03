/* channel_queue - what happened on nng's threads, in order, for the loop to take.
 * Private to channel. Posting rings `wake` when the queue stops being empty, under the queue's
 * lock: once it is silenced no late ring can reach a loop that is being taken down. */
#ifndef COMMON_CHANNEL_QUEUE_H
#define COMMON_CHANNEL_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct channel;

enum channel_event_kind { CHANNEL_UP, CHANNEL_FRAME, CHANNEL_DOWN };

struct channel_event {
    struct channel_event *next;
    enum channel_event_kind kind;
    struct channel *channel;
    uint32_t id; /* FRAME: the request id */
    size_t length; /* FRAME: of body */
    uint8_t *body; /* FRAME: in the event's own allocation */
};

struct channel_queue {
    pthread_mutex_t lock;
    pthread_cond_t posted;
    struct channel_event *first, *last;
    void (*wake)(void *arg); /* NULL once silenced */
    void *arg;
};

void channel_queue_init(struct channel_queue *q, void (*wake)(void *arg), void *arg);
void channel_queue_deinit(struct channel_queue *q); /* must be empty */
void channel_queue_post(struct channel_queue *q, struct channel_event *event);
/* Everything that is queued, oldest first; NULL: nothing. */
struct channel_event *channel_queue_take(struct channel_queue *q);
/* The same, but waits until there is something. */
struct channel_event *channel_queue_wait(struct channel_queue *q);
void channel_queue_silence(struct channel_queue *q); /* `wake` is never called again */

/* NULL: out of memory. Freed by free(). */
struct channel_event *channel_frame_event_new(struct channel *c, uint32_t id, size_t length);

#endif
