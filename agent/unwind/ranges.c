#include "agent/unwind/ranges.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 16 };

static enum status add(struct ranges *r, struct abi_range range)
{
    uint32_t capacity = r->capacity == 0 ? FIRST_CAPACITY : 2 * r->capacity;
    struct abi_range *items;

    if (r->count >= RANGES_MAX) {
        r->dropped++;
        return ST_OK;
    }
    if (r->count == r->capacity) {
        items = realloc(r->items, capacity * sizeof(*items));
        if (items == NULL)
            return ST_NOMEM;
        r->items = items;
        r->capacity = capacity;
    }
    r->items[r->count++] = range;
    return ST_OK;
}

static enum status add_whole(struct ranges *r, const struct code_mapping *m,
                             enum abi_range_rule rule)
{
    return add(r, (struct abi_range){.start = m->start, .end = m->end, .rule = rule});
}

/* A range for each piece of the table that the mapping shows code of. What lies before the first
 * piece belongs to it, and what lies behind the last to that one. */
static enum status add_pieces(struct ranges *r, const struct code_mapping *m, uint64_t base,
                              const struct table_piece *pieces, uint32_t count)
{
    enum status st = ST_OK;

    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        struct abi_range range = {.start = m->start,
                                  .end = m->end,
                                  .base = base,
                                  .shard = pieces[i].region.shard,
                                  .first = pieces[i].region.first,
                                  .last = pieces[i].region.first + pieces[i].region.count,
                                  .rule = ABI_RANGE_ROWS};
        uint64_t from = base + pieces[i].pc, to = i + 1 < count ? base + pieces[i + 1].pc : m->end;

        if (i > 0 && from > range.start)
            range.start = from;
        if (to < range.end)
            range.end = to;
        if (range.start < range.end)
            st = add(r, range);
    }
    return st;
}

static enum status add_file(struct ranges *r, const struct tables *tables,
                            const struct code_mapping *m)
{
    enum table_state state = tables_state(tables, m->binary);
    const struct table_piece *pieces;
    uint32_t count;
    uint64_t pc;

    if (!tables_settled(state))
        return ST_OK;
    if (state != TABLE_READY ||
        !file_rows_pc_at(tables_file(tables, m->binary), m->file_offset, &pc))
        return add_whole(r, m, ABI_RANGE_FRAME_POINTER);
    pieces = tables_pieces(tables, m->binary, &count);
    return add_pieces(r, m, m->start - pc, pieces, count);
}

enum status ranges_make(const struct tables *tables, const struct code_mapping *mappings,
                        uint32_t count, struct ranges *out)
{
    struct ranges r = {0};
    enum status st = ST_OK;

    for (uint32_t i = 0; i < count && st == ST_OK; i++)
        switch (mappings[i].kind) {
        case CODE_FILE:
            st = add_file(&r, tables, &mappings[i]);
            break;
        case CODE_ANONYMOUS:
            st = add_whole(&r, &mappings[i], ABI_RANGE_FRAME_POINTER);
            break;
        case CODE_TRAMPOLINES:
            st = add_whole(&r, &mappings[i], ABI_RANGE_TRAMPOLINE);
            break;
        }
    if (st == ST_OK)
        *out = r;
    else
        ranges_deinit(&r);
    return st;
}

void ranges_deinit(struct ranges *r)
{
    free(r->items);
    *r = (struct ranges){0};
}

bool ranges_hold(const struct ranges *r, uint64_t address)
{
    uint32_t low = 0, high = r->count; /* the first that ends behind it lies in between */

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (r->items[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->count && r->items[low].start <= address;
}

uint32_t ranges_pages(const struct ranges *r)
{
    if (r->count <= ABI_PAGE_RANGES)
        return 1;
    return 1 + (r->count + ABI_PAGE_RANGES - 1) / ABI_PAGE_RANGES;
}

void ranges_fill_page(const struct ranges *r, uint32_t page, struct abi_page *out)
{
    bool several = r->count > ABI_PAGE_RANGES;
    uint32_t first = several && page > 0 ? (page - 1) * ABI_PAGE_RANGES : 0;
    uint32_t left = r->count - first;

    memset(out, 0, sizeof(*out)); /* the kernel's copy must not show our stack */
    if (several && page == 0) {
        out->pages = ranges_pages(r) - 1;
        for (uint32_t i = 0; i < out->pages; i++)
            out->starts[i] = r->items[(size_t)i * ABI_PAGE_RANGES].start;
        return;
    }
    out->ranges = left < ABI_PAGE_RANGES ? left : ABI_PAGE_RANGES;
    if (out->ranges > 0)
        memcpy(out->range, r->items + first, out->ranges * sizeof(*out->range));
}
