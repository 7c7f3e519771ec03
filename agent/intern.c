#include "agent/intern.h"

#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

enum {
    FIRST_ROWS = 64,
    FIRST_SLOTS = 128, /* power of two, as it stays */
    FIRST_TEXT_BYTES = 4096,
};

/* ---- rows ---- */

enum status rows_reserve(struct rows *r)
{
    uint32_t capacity = r->capacity > 0 ? 2 * r->capacity : FIRST_ROWS;
    void *at;

    if (r->count >= r->limit)
        return ST_FULL;
    if (r->count < r->capacity)
        return ST_OK;
    at = realloc(r->at, capacity * r->row_bytes);
    if (at == NULL)
        return ST_NOMEM;
    r->at = at;
    r->capacity = capacity;
    return ST_OK;
}

static void *row_at(const struct rows *r, uint32_t number)
{
    return (char *)r->at + number * r->row_bytes;
}

enum status rows_add(struct rows *r, const void *row)
{
    enum status st = rows_reserve(r);

    if (st == ST_OK)
        memcpy(row_at(r, r->count++), row, r->row_bytes);
    return st;
}

void rows_deinit(struct rows *r)
{
    free(r->at);
    r->at = NULL;
    r->count = r->capacity = 0;
}

/* ---- lookup ---- */

struct lookup_slot {
    uint32_t hash;
    uint32_t taken; /* number + 1; 0: free */
};

/* What is looked for, and how to tell that a row is it. */
struct probe {
    uint32_t hash;
    bool (*matches)(const void *table, const void *key, uint32_t number);
    const void *table, *key;
};

/* Eight bytes at a time, each mixed by a multiplication (the constant is 2^64 / golden ratio). */
static uint32_t hash_of(const void *bytes, size_t length)
{
    const char *next = bytes;
    uint64_t hash = length, word;

    for (size_t left = length; left > 0;) {
        size_t step = left < sizeof(word) ? left : sizeof(word);

        word = 0;
        memcpy(&word, next, step);
        hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
        next += step;
        left -= step;
    }
    return (uint32_t)(hash >> 32 ^ hash);
}

static bool lookup_find(const struct lookup *l, const struct probe *p, uint32_t *out_number)
{
    uint32_t mask = l->slot_count - 1;

    if (l->slot_count == 0)
        return false;
    for (uint32_t i = p->hash & mask; l->slots[i].taken != 0; i = (i + 1) & mask) {
        uint32_t number = l->slots[i].taken - 1;

        if (l->slots[i].hash == p->hash && p->matches(p->table, p->key, number)) {
            *out_number = number;
            return true;
        }
    }
    return false;
}

static void put(struct lookup_slot *slots, uint32_t slot_count, struct lookup_slot slot)
{
    uint32_t mask = slot_count - 1, i = slot.hash & mask;

    while (slots[i].taken != 0)
        i = (i + 1) & mask;
    slots[i] = slot;
}

static enum status lookup_reserve(struct lookup *l)
{
    uint32_t slot_count = l->slot_count > 0 ? 2 * l->slot_count : FIRST_SLOTS;
    struct lookup_slot *slots;

    if (2 * (l->used + 1) <= l->slot_count)
        return ST_OK;
    slots = calloc(slot_count, sizeof(*slots));
    if (slots == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < l->slot_count; i++)
        if (l->slots[i].taken != 0)
            put(slots, slot_count, l->slots[i]);
    free(l->slots);
    l->slots = slots;
    l->slot_count = slot_count;
    return ST_OK;
}

static void lookup_add(struct lookup *l, uint32_t hash, uint32_t number) /* after a reserve */
{
    put(l->slots, l->slot_count, (struct lookup_slot){hash, number + 1});
    l->used++;
}

static void lookup_deinit(struct lookup *l)
{
    free(l->slots);
    *l = (struct lookup){0};
}

/* ---- interned ---- */

static bool row_matches(const void *table, const void *key, uint32_t number)
{
    const struct interned *t = table;

    return memcmp(row_at(&t->rows, number), key, t->key_bytes) == 0;
}

static struct probe probe_row(const struct interned *t, const void *row)
{
    return (struct probe){hash_of(row, t->key_bytes), row_matches, t, row};
}

bool interned_find(const struct interned *t, const void *row, uint32_t *out_number)
{
    struct probe p = probe_row(t, row);

    return lookup_find(&t->lookup, &p, out_number);
}

enum status interned_add(struct interned *t, const void *row, uint32_t *out_number)
{
    struct probe p = probe_row(t, row);
    enum status st;

    if (lookup_find(&t->lookup, &p, out_number))
        return ST_OK;
    st = lookup_reserve(&t->lookup);
    if (st == ST_OK)
        st = rows_add(&t->rows, row);
    if (st != ST_OK)
        return st;
    *out_number = t->rows.count - 1;
    lookup_add(&t->lookup, p.hash, *out_number);
    return ST_OK;
}

void interned_deinit(struct interned *t)
{
    rows_deinit(&t->rows);
    lookup_deinit(&t->lookup);
}

/* ---- texts ---- */

struct text {
    const char *bytes;
    uint32_t length; /* without a NUL, which it need not have */
};

static bool text_matches(const void *table, const void *key, uint32_t number)
{
    const struct texts *t = table;
    const struct text *text = key;
    const char *known = t->bytes + *(const uint32_t *)row_at(&t->starts, number);

    return strncmp(known, text->bytes, text->length) == 0 && known[text->length] == '\0';
}

static enum status reserve_bytes(struct texts *t, uint32_t more)
{
    uint32_t capacity = t->capacity > 0 ? t->capacity : FIRST_TEXT_BYTES;
    char *bytes;

    if (more > t->bytes_limit - t->length)
        return ST_FULL;
    while (capacity - t->length < more)
        capacity *= 2;
    if (capacity == t->capacity)
        return ST_OK;
    bytes = realloc(t->bytes, capacity);
    if (bytes == NULL)
        return ST_NOMEM;
    t->bytes = bytes;
    t->capacity = capacity;
    return ST_OK;
}

static bool find_text(const struct texts *t, const struct text *text, uint32_t *out_number)
{
    struct probe p = {hash_of(text->bytes, text->length), text_matches, t, text};

    return lookup_find(&t->lookup, &p, out_number);
}

static enum status add_new(struct texts *t, struct text text, uint32_t *out_number)
{
    enum status st = lookup_reserve(&t->lookup);

    if (st == ST_OK)
        st = reserve_bytes(t, text.length + 1);
    if (st == ST_OK)
        st = rows_add(&t->starts, &t->length);
    if (st != ST_OK)
        return st;
    memcpy(t->bytes + t->length, text.bytes, text.length);
    t->bytes[t->length + text.length] = '\0';
    t->length += text.length + 1;
    *out_number = t->starts.count - 1;
    lookup_add(&t->lookup, hash_of(text.bytes, text.length), *out_number);
    return ST_OK;
}

static enum status add_repaired(struct texts *t, struct text text, uint32_t *out_number)
{
    enum status st = ST_OK;
    char *bytes = strndup(text.bytes, text.length);

    if (bytes == NULL)
        return ST_NOMEM;
    utf8_repair(bytes, text.length);
    text.bytes = bytes;
    if (!find_text(t, &text, out_number))
        st = add_new(t, text, out_number);
    free(bytes);
    return st;
}

enum status texts_add(struct texts *t, const char *text, uint32_t *out_number)
{
    struct text cut = {text, (uint32_t)utf8_cut(text, strlen(text), t->longest)};

    if (find_text(t, &cut, out_number)) /* what is known is valid: not looked at again */
        return ST_OK;
    if (utf8_valid(cut.bytes, cut.length))
        return add_new(t, cut, out_number);
    return add_repaired(t, cut, out_number);
}

void texts_deinit(struct texts *t)
{
    rows_deinit(&t->starts);
    lookup_deinit(&t->lookup);
    free(t->bytes);
    t->bytes = NULL;
    t->length = t->capacity = 0;
}
