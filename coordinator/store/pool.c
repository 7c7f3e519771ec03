#include "coordinator/store/pool.h"

#include <stdlib.h>
#include <string.h>

void pool_init(struct pool *p, size_t item_bytes, uint32_t limit)
{
    memset(p, 0, sizeof(*p));
    p->item_bytes = item_bytes;
    p->limit = limit;
}

void pool_deinit(struct pool *p)
{
    for (size_t i = 0; i < POOL_SEGMENTS_MAX; i++)
        free(atomic_load_explicit(&p->segments[i], memory_order_relaxed));
    memset(p, 0, sizeof(*p));
}

void *pool_at(const struct pool *p, uint32_t index)
{
    char *segment =
        atomic_load_explicit(&p->segments[index / POOL_SEGMENT_ITEMS], memory_order_acquire);

    return segment + (size_t)(index % POOL_SEGMENT_ITEMS) * p->item_bytes;
}

static enum status ensure_segment(struct pool *p, uint32_t number)
{
    void *segment;

    if (atomic_load_explicit(&p->segments[number], memory_order_relaxed) != NULL)
        return ST_OK;
    segment = calloc(POOL_SEGMENT_ITEMS, p->item_bytes);
    if (segment == NULL)
        return ST_NOMEM;
    atomic_store_explicit(&p->segments[number], segment, memory_order_release);
    return ST_OK;
}

enum status pool_append(struct pool *p, void **out)
{
    enum status st;

    if (p->count >= p->limit || p->count / POOL_SEGMENT_ITEMS >= POOL_SEGMENTS_MAX)
        return ST_FULL;
    st = ensure_segment(p, p->count / POOL_SEGMENT_ITEMS);
    if (st != ST_OK)
        return st;
    *out = pool_at(p, p->count++);
    memset(*out, 0, p->item_bytes);
    return ST_OK;
}

void pool_truncate(struct pool *p, uint32_t count)
{
    if (count < p->count)
        p->count = count;
}

void pool_publish(struct pool *p)
{
    atomic_store_explicit(&p->published, p->count, memory_order_release);
}
