/* spans - interval sets as sorted arrays. */
#include "coordinator/query/spans.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t overlap(struct span s, uint64_t from, uint64_t to)
{
    uint64_t first = later(s.from, from), end = earlier(s.to, to);

    return end > first ? end - first : 0;
}

enum status spans_add(struct spans *s, uint64_t from, uint64_t to)
{
    if (to <= from)
        return ST_OK;
    if (s->count > 0 && s->items[s->count - 1].from <= from && from <= s->items[s->count - 1].to) {
        s->items[s->count - 1].to = later(s->items[s->count - 1].to, to); /* chunk after chunk */
        return ST_OK;
    }
    if (array_reserve(&s->items, &s->capacity, s->count, sizeof(*s->items)) != ST_OK)
        return ST_NOMEM;
    s->items[s->count++] = (struct span){from, to};
    return ST_OK;
}

enum status spans_add_all(struct spans *s, const struct spans *more)
{
    enum status st = ST_OK;

    for (uint32_t i = 0; i < more->count && st == ST_OK; i++)
        st = spans_add(s, more->items[i].from, more->items[i].to);
    return st;
}

static int by_from(const void *a, const void *b)
{
    uint64_t x = ((const struct span *)a)->from, y = ((const struct span *)b)->from;

    return (x > y) - (x < y);
}

void spans_merge(struct spans *s)
{
    uint32_t kept = 0;

    if (s->count == 0)
        return;
    qsort(s->items, s->count, sizeof(*s->items), by_from);
    for (uint32_t i = 1; i < s->count; i++) {
        if (s->items[i].from <= s->items[kept].to)
            s->items[kept].to = later(s->items[kept].to, s->items[i].to);
        else
            s->items[++kept] = s->items[i];
    }
    s->count = kept + 1;
}

void spans_deinit(struct spans *s)
{
    free(s->items);
    memset(s, 0, sizeof(*s));
}

uint64_t spans_length(const struct spans *s)
{
    return spans_length_within(s, 0, UINT64_MAX);
}

uint64_t spans_length_within(const struct spans *s, uint64_t from, uint64_t to)
{
    uint64_t length = 0;

    for (uint32_t i = 0; i < s->count; i++)
        length += overlap(s->items[i], from, to);
    return length;
}

uint64_t spans_common(const struct spans *a, const struct spans *b)
{
    uint64_t length = 0;

    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        length += overlap(a->items[i], b->items[j].from, b->items[j].to);
        if (a->items[i].to < b->items[j].to)
            i++;
        else
            j++;
    }
    return length;
}

enum status spans_intersect(const struct spans *a, const struct spans *b, struct spans *out)
{
    struct spans common = {0};

    for (uint32_t i = 0, j = 0; i < a->count && j < b->count;) {
        struct span x = a->items[i], y = b->items[j];

        if (spans_add(&common, later(x.from, y.from), earlier(x.to, y.to)) != ST_OK) {
            spans_deinit(&common);
            return ST_NOMEM;
        }
        if (x.to < y.to)
            i++;
        else
            j++;
    }
    *out = common;
    return ST_OK;
}
