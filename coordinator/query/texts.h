/* texts - dense numbers for texts, of which it owns copies that never move. One thread. */
#ifndef COORDINATOR_QUERY_TEXTS_H
#define COORDINATOR_QUERY_TEXTS_H

#include <stdint.h>

#include "common/status.h"

struct texts { /* zero-initialised is empty */
    char **texts; /* by number; owned */
    uint32_t count, capacity;
    uint32_t *slots; /* number + 1; 0: empty */
    uint32_t slot_count; /* a power of two, at least twice the count */
};

/* The number of a text, which is new when *out equals the count before the call. ST_NOMEM. */
enum status texts_put(struct texts *t, const char *text, uint32_t *out);
/* Hands the texts over to the caller, who frees each and the array, and leaves the empty set. */
uint32_t texts_take(struct texts *t, char ***out);
void texts_deinit(struct texts *t); /* leaves the empty set */

#endif
