#include "agent/process/mappings.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 8, PIECES_MAX = 2 /* a mapping put into another leaves two ends of it */ };

static enum status reserve(struct mappings *m, uint32_t more)
{
    uint32_t capacity = m->capacity > 0 ? m->capacity : FIRST_CAPACITY;
    struct mapping *items;

    if (m->count + more > PROCESS_MAPPINGS_MAX)
        return ST_FULL;
    while (capacity < m->count + more)
        capacity *= 2;
    if (capacity == m->capacity)
        return ST_OK;
    items = realloc(m->items, capacity * sizeof(*items));
    if (items == NULL)
        return ST_NOMEM;
    m->items = items;
    m->capacity = capacity;
    return ST_OK;
}

/* The first mapping that ends behind `address`. */
static uint32_t first_ending_after(const struct mappings *m, uint64_t address)
{
    uint32_t low = 0, high = m->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (m->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Puts `pieces` in the place of the `old` mappings at `at`. Room has been reserved. */
static void splice(struct mappings *m, uint32_t at, uint32_t old, const struct mapping *pieces,
                   uint32_t count)
{
    memmove(m->items + at + count, m->items + at + old, (m->count - at - old) * sizeof(*m->items));
    memcpy(m->items + at, pieces, count * sizeof(*pieces));
    m->count = m->count - old + count;
}

static bool continues(const struct mapping *left, const struct mapping *right)
{
    if (left->end != right->start || left->binary != right->binary ||
        left->trampolines != right->trampolines)
        return false;
    return left->binary == NULL ||
           left->file_offset + (left->end - left->start) == right->file_offset;
}

/* Joins the mapping at `at` with the one behind it, if it continues there. */
static void join(struct mappings *m, uint32_t at)
{
    struct mapping joined;

    if (at + 1 >= m->count || !continues(&m->items[at], &m->items[at + 1]))
        return;
    joined = m->items[at];
    joined.end = m->items[at + 1].end;
    splice(m, at, 2, &joined, 1);
}

enum status mappings_put(struct mappings *m, struct mapping mapping)
{
    uint32_t at = first_ending_after(m, mapping.start);
    uint32_t after = at;
    struct mapping pieces[PIECES_MAX + 1];
    uint32_t count = 0;
    enum status st;

    if (mapping.end <= mapping.start)
        return ST_INVALID;
    st = reserve(m, PIECES_MAX);
    if (st != ST_OK)
        return st;
    while (after < m->count && m->items[after].start < mapping.end)
        after++;
    if (after > at && m->items[at].start < mapping.start) {
        pieces[count] = m->items[at];
        pieces[count++].end = mapping.start;
    }
    pieces[count++] = mapping;
    if (after > at && m->items[after - 1].end > mapping.end) {
        pieces[count] = m->items[after - 1];
        pieces[count].file_offset += mapping.end - pieces[count].start;
        pieces[count++].start = mapping.end;
    }
    splice(m, at, after - at, pieces, count);
    for (uint32_t i = count; i-- > 0;)
        join(m, at + i);
    if (at > 0)
        join(m, at - 1);
    return ST_OK;
}

const struct mapping *mappings_find(const struct mappings *m, uint64_t address)
{
    uint32_t at = first_ending_after(m, address);

    return at < m->count && m->items[at].start <= address ? &m->items[at] : NULL;
}

enum status mappings_copy(const struct mappings *from, struct mappings *out)
{
    struct mappings m = {0};
    enum status st = reserve(&m, from->count);

    if (st != ST_OK)
        return st;
    if (from->count > 0)
        memcpy(m.items, from->items, from->count * sizeof(*m.items));
    m.count = from->count;
    *out = m;
    return ST_OK;
}

void mappings_deinit(struct mappings *m)
{
    free(m->items);
    *m = (struct mappings){0};
}
