/* keys - dense numbers for fixed-size keys: the first new key is 0, the next is 1, and so on.
 * What queries sum by: the caller keeps its sums in an array indexed by the number. Keys are never
 * removed. One thread. */
#ifndef COORDINATOR_QUERY_KEYS_H
#define COORDINATOR_QUERY_KEYS_H

#include <stdint.h>

#include "common/status.h"

#define KEYS_NONE UINT32_MAX

struct key {
    uint64_t high, low;
};

struct keys { /* zero-initialised is empty */
    struct key *keys; /* by number */
    uint32_t count, capacity;
    uint32_t *slots; /* number + 1; 0: empty */
    uint32_t slot_count; /* a power of two, at least twice the count */
};

static inline uint64_t key_pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* The number of a key, which is new when *out equals the count before the call. ST_NOMEM. */
enum status keys_put(struct keys *k, struct key key, uint32_t *out);
uint32_t keys_find(const struct keys *k, struct key key); /* KEYS_NONE */
void keys_deinit(struct keys *k); /* leaves the empty set */

#endif
