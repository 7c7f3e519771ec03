/* keys - an open-addressed table with linear probing over an array of keys in order of arrival. */
#include "coordinator/query/keys.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"

enum { SLOTS_FIRST = 64 };

/* Two rounds of multiply and shift: every bit of the key reaches the low bits that choose a slot.
 * The keys are dense ids given by us, so nobody outside can aim at collisions. */
static uint32_t slot_of(struct key key, uint32_t slot_count)
{
    uint64_t h = key.high * UINT64_C(0x9e3779b97f4a7c15) ^ key.low;

    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(h >> 32) & (slot_count - 1);
}

/* The slot that holds the key, or the empty one where it belongs. */
static uint32_t *find_slot(const struct keys *k, struct key key)
{
    uint32_t i = slot_of(key, k->slot_count);

    for (;; i = (i + 1) & (k->slot_count - 1)) {
        uint32_t number = k->slots[i];

        if (number == 0)
            return &k->slots[i];
        if (k->keys[number - 1].low == key.low && k->keys[number - 1].high == key.high)
            return &k->slots[i];
    }
}

static enum status grow_slots(struct keys *k)
{
    uint32_t slot_count = k->slot_count == 0 ? SLOTS_FIRST : k->slot_count * 2;
    uint32_t *slots = calloc(slot_count, sizeof(*slots));

    if (slots == NULL || slot_count == 0) {
        free(slots);
        return ST_NOMEM;
    }
    free(k->slots);
    k->slots = slots;
    k->slot_count = slot_count;
    for (uint32_t i = 0; i < k->count; i++)
        *find_slot(k, k->keys[i]) = i + 1;
    return ST_OK;
}

enum status keys_put(struct keys *k, struct key key, uint32_t *out)
{
    uint32_t *slot;

    if (k->count >= k->slot_count / 2 && grow_slots(k) != ST_OK)
        return ST_NOMEM;
    slot = find_slot(k, key);
    if (*slot == 0) {
        if (array_reserve(&k->keys, &k->capacity, k->count, sizeof(*k->keys)) != ST_OK)
            return ST_NOMEM;
        k->keys[k->count++] = key;
        *slot = k->count;
    }
    *out = *slot - 1;
    return ST_OK;
}

uint32_t keys_find(const struct keys *k, struct key key)
{
    return k->slot_count == 0 ? KEYS_NONE : *find_slot(k, key) - 1; /* 0 - 1 is KEYS_NONE */
}

void keys_deinit(struct keys *k)
{
    free(k->keys);
    free(k->slots);
    memset(k, 0, sizeof(*k));
}
