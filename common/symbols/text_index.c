#include "common/symbols/text_index.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024 };

static uint32_t hash_of(const char *text) /* FNV-1a */
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        hash = (hash ^ *c) * UINT64_C(0x100000001b3);
    return (uint32_t)(hash ^ (hash >> 32));
}

static const char *text_of(const struct text_index *t, uint32_t id)
{
    return t->places->text + t->places->texts[id - 1];
}

/* Where `text` is, or the free slot where it would be. */
static uint32_t *slot_of(const struct text_index *t, const char *text)
{
    uint32_t i = hash_of(text) & (t->slot_count - 1);

    while (t->slots[i] != 0 && strcmp(text_of(t, t->slots[i]), text) != 0)
        i = (i + 1) & (t->slot_count - 1);
    return &t->slots[i];
}

static enum status grow(struct text_index *t)
{
    uint32_t count = t->slot_count > 0 ? 2 * t->slot_count : FIRST_SLOTS;
    uint32_t *slots;

    if (t->slot_count / 2 > t->places->text_count)
        return ST_OK;
    slots = calloc(count, sizeof(*slots));
    if (slots == NULL)
        return ST_NOMEM;
    free(t->slots);
    t->slots = slots;
    t->slot_count = count;
    for (uint32_t id = 1; id <= t->places->text_count; id++)
        *slot_of(t, text_of(t, id)) = id;
    return ST_OK;
}

enum status text_index_find(struct text_index *t, const char *text, uint32_t *out)
{
    enum status st;
    uint32_t *slot;

    if (text == NULL || *text == '\0') {
        *out = 0;
        return ST_OK;
    }
    if (text == t->last) {
        *out = t->last_id;
        return ST_OK;
    }
    st = grow(t);
    if (st != ST_OK)
        return st;
    slot = slot_of(t, text);
    if (*slot == 0)
        st = places_add_text(t->places, text, slot);
    if (st != ST_OK)
        return st;
    t->last = text;
    t->last_id = *slot;
    *out = *slot;
    return ST_OK;
}

void text_index_deinit(struct text_index *t)
{
    free(t->slots);
    *t = (struct text_index){0};
}
