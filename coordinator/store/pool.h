/* pool - an array that only grows and never moves: items in segments that are made on demand.
 * One thread appends; any thread reads items below the published count without a lock. */
#ifndef COORDINATOR_STORE_POOL_H
#define COORDINATOR_STORE_POOL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { POOL_SEGMENT_ITEMS = 1 << 16, POOL_SEGMENTS_MAX = 1 << 12 }; /* 2^28 items at most */

struct pool {
    size_t item_bytes;
    uint32_t limit; /* items at most */
    uint32_t count; /* the appender's; readers use `published` */
    _Atomic uint32_t published;
    _Atomic(void *) segments[POOL_SEGMENTS_MAX];
};

void pool_init(struct pool *p, size_t item_bytes, uint32_t limit);
void pool_deinit(struct pool *p);
/* A zeroed place for item `count`, which becomes part of the pool. ST_FULL; ST_NOMEM. */
enum status pool_append(struct pool *p, void **out);
void pool_truncate(struct pool *p, uint32_t count); /* only what was never published */
void pool_publish(struct pool *p);
/* Of an item that was appended (appender) or published (others). */
void *pool_at(const struct pool *p, uint32_t index);

#endif
