/* places in memory; places_codec.c has the bytes. */
#include "common/places.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

enum { FIRST_ITEMS = 256, FIRST_TEXT = 16 * 1024 };

/* Makes room for one more item of `bytes` bytes; `items` points to the array's pointer. */
static enum status reserve(void *items, size_t bytes, uint32_t count, uint32_t *capacity,
                           uint32_t limit)
{
    uint32_t wanted = *capacity > 0 ? 2 * *capacity : FIRST_ITEMS;
    void *old, *grown;

    if (count >= limit)
        return ST_FULL;
    if (count < *capacity)
        return ST_OK;
    memcpy(&old, items, sizeof(old));
    grown = realloc(old, wanted * bytes);
    if (grown == NULL)
        return ST_NOMEM;
    memcpy(items, &grown, sizeof(grown));
    *capacity = wanted;
    return ST_OK;
}

static enum status reserve_text(struct places *p, size_t more)
{
    size_t capacity = p->text_bytes_capacity > 0 ? p->text_bytes_capacity : FIRST_TEXT;
    char *text;

    if (more > PLACES_PLAIN_MAX - p->text_bytes)
        return ST_FULL;
    while (capacity < p->text_bytes + more)
        capacity *= 2;
    if (capacity == p->text_bytes_capacity)
        return ST_OK;
    text = realloc(p->text, capacity);
    if (text == NULL)
        return ST_NOMEM;
    p->text = text;
    p->text_bytes_capacity = capacity;
    return ST_OK;
}

enum status places_add_text(struct places *p, const char *text, uint32_t *out)
{
    size_t length = utf8_cut(text, strlen(text), PLACES_TEXT_MAX);
    enum status st;

    if (length == 0)
        return ST_INVALID;
    st = reserve(&p->texts, sizeof(*p->texts), p->text_count, &p->text_capacity, PLACES_TEXTS_MAX);
    if (st == ST_OK)
        st = reserve_text(p, length + 1);
    if (st != ST_OK)
        return st;
    memcpy(p->text + p->text_bytes, text, length);
    utf8_repair(p->text + p->text_bytes, length);
    p->text[p->text_bytes + length] = '\0';
    p->texts[p->text_count++] = (uint32_t)p->text_bytes;
    p->text_bytes += length + 1;
    *out = p->text_count;
    return ST_OK;
}

enum status places_add_call(struct places *p, struct place_call call, uint32_t *out)
{
    enum status st;

    if (call.parent > p->call_count || call.function == 0 || call.function > p->text_count ||
        call.file > p->text_count)
        return ST_INVALID;
    st = reserve(&p->calls, sizeof(*p->calls), p->call_count, &p->call_capacity, PLACES_CALLS_MAX);
    if (st != ST_OK)
        return st;
    p->calls[p->call_count++] = call;
    *out = p->call_count;
    return ST_OK;
}

static bool says_the_same(const struct place_span *a, const struct place_span *b)
{
    return a->call == b->call && a->file == b->file && a->line == b->line;
}

enum status places_add_span(struct places *p, struct place_span span)
{
    struct place_span *last = p->span_count > 0 ? &p->spans[p->span_count - 1] : NULL;
    enum status st;

    if (span.call > p->call_count || span.file > p->text_count)
        return ST_INVALID;
    if (last != NULL && span.start < last->start)
        return ST_BAD_STATE;
    if (last != NULL && span.start == last->start) {
        *last = span;
        return ST_OK;
    }
    if (last != NULL && says_the_same(last, &span))
        return ST_OK;
    st = reserve(&p->spans, sizeof(*p->spans), p->span_count, &p->span_capacity, PLACES_SPANS_MAX);
    if (st == ST_OK) /* there is room: NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
        p->spans[p->span_count++] = span;
    return st;
}

/* ---- look-up ---- */

static const struct place_span *find_span(const struct places *p, uint64_t offset)
{
    uint32_t low = 0, high = p->span_count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (p->spans[middle].start <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? &p->spans[low - 1] : NULL;
}

static const char *text_of(const struct places *p, uint32_t id)
{
    return id == 0 ? NULL : p->text + p->texts[id - 1];
}

uint32_t places_find(const struct places *p, uint64_t offset, struct place out[], uint32_t max)
{
    const struct place_span *span = find_span(p, offset);
    struct place here;
    uint32_t count = 0;

    if (span == NULL || (span->call == 0 && span->file == 0))
        return 0;
    here = (struct place){NULL, text_of(p, span->file), span->line};
    for (uint32_t id = span->call; id != 0; id = p->calls[id - 1].parent) {
        const struct place_call *call = &p->calls[id - 1];

        here.function = text_of(p, call->function);
        if (count + 1 < max)
            out[count++] = here;
        here = (struct place){NULL, text_of(p, call->file), call->line};
    }
    out[count++] = here;
    return count;
}

void places_deinit(struct places *p)
{
    free(p->spans);
    free(p->calls);
    free(p->texts);
    free(p->text);
    *p = (struct places){0};
}
