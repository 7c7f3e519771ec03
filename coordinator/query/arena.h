/* arena - many small zeroed pieces of memory that are freed at once. One thread. */
#ifndef COORDINATOR_QUERY_ARENA_H
#define COORDINATOR_QUERY_ARENA_H

#include <stddef.h>

struct arena { /* zero-initialised is empty */
    struct arena_block *blocks; /* the newest first */
    size_t used; /* of the newest */
};

/* Zeroed, aligned for any type; NULL: out of memory, or count * bytes does not fit. */
void *arena_get(struct arena *a, size_t count, size_t bytes);
void arena_deinit(struct arena *a);

#endif
