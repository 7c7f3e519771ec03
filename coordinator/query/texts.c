/* texts - an open-addressed table over an array of texts in order of arrival. */
#include "coordinator/query/texts.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 64 };

static uint64_t hash_of(const char *text) /* FNV-1a */
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (; *text != '\0'; text++)
        h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return h ^ h >> 32;
}

static uint32_t *find_slot(const struct texts *t, const char *text)
{
    uint32_t i = (uint32_t)hash_of(text) & (t->slot_count - 1);

    while (t->slots[i] != 0 && strcmp(t->texts[t->slots[i] - 1], text) != 0)
        i = (i + 1) & (t->slot_count - 1);
    return &t->slots[i];
}

static enum status grow(struct texts *t)
{
    uint32_t slot_count = t->slot_count == 0 ? SLOTS_FIRST : t->slot_count * 2;
    char **texts = realloc(t->texts, slot_count / 2 * sizeof(*texts));
    uint32_t *slots;

    if (texts == NULL)
        return ST_NOMEM;
    t->texts = texts;
    t->capacity = slot_count / 2;
    slots = calloc(slot_count, sizeof(*slots));
    if (slots == NULL)
        return ST_NOMEM;
    free(t->slots);
    t->slots = slots;
    t->slot_count = slot_count;
    for (uint32_t i = 0; i < t->count; i++)
        *find_slot(t, t->texts[i]) = i + 1;
    return ST_OK;
}

enum status texts_put(struct texts *t, const char *text, uint32_t *out)
{
    uint32_t *slot;

    if (t->count >= t->slot_count / 2 && grow(t) != ST_OK)
        return ST_NOMEM;
    slot = find_slot(t, text);
    if (*slot == 0) {
        char *copy = strdup(text);

        if (copy == NULL)
            return ST_NOMEM;
        t->texts[t->count++] = copy;
        *slot = t->count;
    }
    *out = *slot - 1;
    return ST_OK;
}

uint32_t texts_take(struct texts *t, char ***out)
{
    uint32_t count = t->count;

    *out = t->texts;
    free(t->slots);
    memset(t, 0, sizeof(*t));
    return count;
}

void texts_deinit(struct texts *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        free(t->texts[i]);
    free(t->texts);
    free(t->slots);
    memset(t, 0, sizeof(*t));
}
