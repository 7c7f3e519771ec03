#include "common/channel_queue.h"

#include <stdlib.h>

void channel_queue_init(struct channel_queue *q, void (*wake)(void *arg), void *arg)
{
    *q = (struct channel_queue){.wake = wake, .arg = arg};
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->posted, NULL);
}

void channel_queue_deinit(struct channel_queue *q)
{
    pthread_cond_destroy(&q->posted);
    pthread_mutex_destroy(&q->lock);
}

void channel_queue_post(struct channel_queue *q, struct channel_event *event)
{
    pthread_mutex_lock(&q->lock);
    event->next = NULL;
    if (q->first == NULL) {
        q->first = event;
        if (q->wake != NULL)
            q->wake(q->arg);
    } else {
        q->last->next = event;
    }
    q->last = event;
    pthread_cond_signal(&q->posted);
    pthread_mutex_unlock(&q->lock);
}

static struct channel_event *take_locked(struct channel_queue *q)
{
    struct channel_event *events = q->first;

    q->first = NULL;
    q->last = NULL;
    return events;
}

struct channel_event *channel_queue_take(struct channel_queue *q)
{
    struct channel_event *events;

    pthread_mutex_lock(&q->lock);
    events = take_locked(q);
    pthread_mutex_unlock(&q->lock);
    return events;
}

struct channel_event *channel_queue_wait(struct channel_queue *q)
{
    struct channel_event *events;

    pthread_mutex_lock(&q->lock);
    while (q->first == NULL)
        pthread_cond_wait(&q->posted, &q->lock);
    events = take_locked(q);
    pthread_mutex_unlock(&q->lock);
    return events;
}

void channel_queue_silence(struct channel_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->wake = NULL;
    pthread_mutex_unlock(&q->lock);
}

struct channel_event *channel_frame_event_new(struct channel *c, uint32_t id, size_t length)
{
    struct channel_event *event = malloc(sizeof(*event) + length);

    if (event == NULL)
        return NULL;
    *event = (struct channel_event){
        .kind = CHANNEL_FRAME,
        .channel = c,
        .id = id,
        .length = length,
        .body = (uint8_t *)(event + 1),
    };
    return event;
}
