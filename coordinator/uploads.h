/* uploads - the chunks of one connection that are being made durable, in the order in which they
 * came, and hence up to which number they may be acknowledged. No I/O, no clock. Loop thread. */
#ifndef COORDINATOR_UPLOADS_H
#define COORDINATOR_UPLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/message.h"
#include "common/status.h"

enum { UPLOADS_MAX = 64 }; /* of a connection: eight times the window that WELCOME offers */

struct upload { /* alive until it is finished, even when its connection is gone */
    void *owner; /* the connection; NULL: gone */
    void *context; /* the taker's: what is there even without the owner */
    char host[MESSAGE_HOST_MAX + 1];
    uint64_t number;
    size_t bytes;
    bool finished; /* durable or refused, but an earlier one is not */
    bool failed; /* it could not be made durable, and nobody works on it any more */
    struct upload *next;
};

struct uploads { /* zero-initialised: a new connection */
    struct upload *first, *last;
    uint32_t count;
    size_t bytes;
    uint64_t taken; /* highest number that came */
    uint64_t acked; /* it and every earlier one are durable or refused */
};

/* The taker fills in owner and context.
 * ST_EXISTS: acknowledged already, so acknowledge it again; ST_BAD_STATE: it is being made durable;
 * ST_FULL: the sender ignores its window; ST_NOMEM. */
enum status uploads_take(struct uploads *u, uint64_t number, size_t bytes, const char *host,
                         struct upload **out);
/* It could not be handed on: as if it had not come. Only of the one taken last. */
void uploads_untake(struct uploads *u, struct upload *upload);
/* It is durable or refused. True if `acked` went up; then `upload` is freed, as any before it. */
bool uploads_finish(struct uploads *u, struct upload *upload);
/* It could not be made durable: `acked` stays below it for good. */
void uploads_fail(struct uploads *u, struct upload *upload);
/* The connection is gone: what is unfinished becomes its own owner and frees itself when told to,
 * by upload_free. */
void uploads_orphan(struct uploads *u);
void upload_free(struct upload *upload);

#endif
