#include "common/utf8.h"

#include <stdint.h>

/* Unicode 15, table 3-7: the second byte's range depends on the first, later ones are 80..BF. */
struct lead {
    uint8_t first, last; /* range of the first byte */
    uint8_t low, high; /* range of the second */
    uint8_t length; /* bytes of the whole character */
};

static const struct lead leads[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

static const struct lead *find_lead(uint8_t byte)
{
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++)
        if (byte >= leads[i].first && byte <= leads[i].last)
            return &leads[i];
    return NULL;
}

/* Bytes of the character at `at`, 0 when there is none. */
static size_t character_length(const uint8_t *at, size_t left)
{
    const struct lead *lead;

    if (at[0] < 0x80)
        return 1;
    lead = find_lead(at[0]);
    if (lead == NULL || lead->length > left || at[1] < lead->low || at[1] > lead->high)
        return 0;
    for (size_t i = 2; i < lead->length; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return 0;
    return lead->length;
}

bool utf8_valid(const char *bytes, size_t length)
{
    size_t step;

    for (size_t i = 0; i < length; i += step) {
        step = character_length((const uint8_t *)bytes + i, length - i);
        if (step == 0)
            return false;
    }
    return true;
}

void utf8_repair(char *bytes, size_t length)
{
    size_t step;

    for (size_t i = 0; i < length; i += step) {
        step = character_length((const uint8_t *)bytes + i, length - i);
        if (step == 0) {
            bytes[i] = '?';
            step = 1;
        }
    }
}

size_t utf8_cut(const char *text, size_t length, size_t limit)
{
    size_t cut = limit;

    if (length <= limit)
        return length;
    while (cut > 0 && ((uint8_t)text[cut] & 0xc0) == 0x80)
        cut--;
    return cut;
}
