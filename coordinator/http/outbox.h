/* outbox - bytes that wait for a slow reader: a queue in one growing buffer. Any one thread. */
#ifndef COORDINATOR_HTTP_OUTBOX_H
#define COORDINATOR_HTTP_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct outbox { /* zero-initialised is empty */
    uint8_t *bytes;
    size_t start, end, capacity; /* waiting: [start, end) */
};

/* Adds an event in the form of server-sent events. ST_NOMEM: nothing was added. */
enum status outbox_put_event(struct outbox *o, const char *event, const char *data);
enum status outbox_put(struct outbox *o, const char *text);
/* Moves up to `room` bytes out. */
size_t outbox_take(struct outbox *o, char *to, size_t room);
size_t outbox_waiting(const struct outbox *o);
void outbox_deinit(struct outbox *o);

#endif
