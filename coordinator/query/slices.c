/* slices - bounds are found by walking the observed time. */
#include "coordinator/query/slices.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"

/* The time at which `observed` has lasted for `length`. */
static uint64_t time_after(const struct spans *observed, uint64_t length)
{
    uint32_t i = 0;

    for (; i + 1 < observed->count; i++) {
        uint64_t span = observed->items[i].to - observed->items[i].from;

        if (length < span)
            break;
        length -= span;
    }
    return observed->items[i].from + length;
}

void slices_make(const struct spans *observed, struct wall from, struct wall to, struct slices *out)
{
    uint64_t length = spans_length(observed), count = length / PROFILE_SLICE_NS_MIN;
    struct slices s = {.count = 1};

    if (count > 1)
        s.count = count < PROFILE_SLICES ? (uint32_t)count : PROFILE_SLICES;
    s.bounds[0] = from.ns;
    for (uint32_t i = 1; i < s.count; i++)
        s.bounds[i] = time_after(observed, length / s.count * i);
    s.bounds[s.count] = to.ns;
    *out = s;
}

/* The first tick at or after a time. */
static uint32_t tick_at(struct wall start, uint64_t ns)
{
    return ns <= start.ns ? 0 : (uint32_t)((ns - start.ns + CHUNK_TICK_NS - 1) / CHUNK_TICK_NS);
}

static enum status add_piece(struct pieces *p, struct wall start, struct span span, uint32_t slice)
{
    struct piece piece = {tick_at(start, span.from), tick_at(start, span.to), slice};

    if (piece.from >= piece.to)
        return ST_OK;
    if (array_reserve(&p->items, &p->capacity, p->count, sizeof(*p->items)) != ST_OK)
        return ST_NOMEM;
    p->items[p->count++] = piece;
    return ST_OK;
}

static enum status cut_span(const struct slices *s, struct wall start, struct span span,
                            struct pieces *out)
{
    enum status st = ST_OK;

    for (uint32_t i = 0; i < s->count && st == ST_OK; i++) {
        struct span part = {span.from > s->bounds[i] ? span.from : s->bounds[i],
                            span.to < s->bounds[i + 1] ? span.to : s->bounds[i + 1]};

        if (part.from < part.to)
            st = add_piece(out, start, part, i);
    }
    return st;
}

enum status slices_cut(const struct slices *s, const struct spans *accepted, struct wall start,
                       struct wall end, struct pieces *out)
{
    enum status st = ST_OK;

    out->count = 0;
    for (uint32_t i = 0; i < accepted->count && st == ST_OK; i++) {
        struct span a = accepted->items[i];
        struct span part = {a.from > start.ns ? a.from : start.ns, a.to < end.ns ? a.to : end.ns};

        if (part.from >= part.to)
            continue;
        st = cut_span(s, start, part, out);
        if (st == ST_OK && part.to == end.ns && out->count > 0)
            out->items[out->count - 1].to = UINT32_MAX; /* a sample may lie on the very end */
    }
    return st;
}

void pieces_deinit(struct pieces *p)
{
    free(p->items);
    memset(p, 0, sizeof(*p));
}
