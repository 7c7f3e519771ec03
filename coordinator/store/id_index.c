#include "coordinator/store/id_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/id.h"

enum { CAPACITY_MIN = 1024 };

void id_index_init(struct id_index *x)
{
    *x = (struct id_index){.seed = random_u64()};
}

static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 29;
}

/* Eight bytes at a time; the length comes first, so that padding with zeros is not a twin. */
uint64_t id_index_hash(const struct id_index *x, const void *bytes, size_t length)
{
    const unsigned char *p = bytes;
    uint64_t h = mix(x->seed, length), word;

    for (; length >= sizeof(word); length -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        h = mix(h, word);
    }
    word = 0;
    memcpy(&word, p, length);
    return mix(h, word);
}

static uint64_t make_slot(uint64_t hash, uint32_t id)
{
    return (hash & 0xffffffff00000000u) | (uint64_t)(id + 1);
}

static uint32_t slot_id(uint64_t slot)
{
    return (uint32_t)slot - 1;
}

/* The place of a slot follows from its upper hash bits, which it keeps: growing needs no content.
 */
static size_t home(uint64_t slot_or_hash, size_t capacity)
{
    return (size_t)((slot_or_hash >> 32) * 0x9e3779b1u) & (capacity - 1);
}

bool id_index_find(const struct id_index *x, uint64_t hash,
                   bool (*equal)(const void *arg, uint32_t id), const void *arg, uint32_t *out)
{
    if (x->capacity == 0)
        return false;
    for (size_t i = home(hash, x->capacity); x->slots[i] != 0; i = (i + 1) & (x->capacity - 1)) {
        if ((x->slots[i] ^ hash) >> 32 != 0 || !equal(arg, slot_id(x->slots[i])))
            continue;
        *out = slot_id(x->slots[i]);
        return true;
    }
    return false;
}

static void place(uint64_t *slots, size_t capacity, uint64_t slot)
{
    size_t i = home(slot, capacity);

    while (slots[i] != 0)
        i = (i + 1) & (capacity - 1);
    slots[i] = slot;
}

/* Moves the slots with ids below `count` into a table of `capacity` places. */
static enum status rebuild(struct id_index *x, size_t capacity, uint32_t count)
{
    uint64_t *slots = calloc(capacity, sizeof(*slots));
    size_t used = 0;

    if (slots == NULL)
        return ST_NOMEM;
    for (size_t i = 0; i < x->capacity; i++) {
        if (x->slots[i] == 0 || slot_id(x->slots[i]) >= count)
            continue;
        place(slots, capacity, x->slots[i]);
        used++;
    }
    free(x->slots);
    x->slots = slots;
    x->capacity = capacity;
    x->used = used;
    return ST_OK;
}

enum status id_index_add(struct id_index *x, uint64_t hash, uint32_t id)
{
    if (2 * (x->used + 1) > x->capacity) {
        enum status st = rebuild(x, x->capacity == 0 ? CAPACITY_MIN : 2 * x->capacity, UINT32_MAX);

        if (st != ST_OK)
            return st;
    }
    place(x->slots, x->capacity, make_slot(hash, id));
    x->used++;
    return ST_OK;
}

void id_index_truncate(struct id_index *x, uint32_t count)
{
    /* Without memory for a second table the run after a removed slot is put back one by one. */
    for (size_t i = 0; i < x->capacity; i++) {
        size_t j = i;

        if (x->slots[i] == 0 || slot_id(x->slots[i]) < count)
            continue;
        x->slots[i] = 0;
        x->used--;
        for (j = (j + 1) & (x->capacity - 1); x->slots[j] != 0; j = (j + 1) & (x->capacity - 1)) {
            uint64_t slot = x->slots[j];

            x->slots[j] = 0;
            place(x->slots, x->capacity, slot);
        }
        i--; /* something may have moved here; SIZE_MAX + 1 is 0 */
    }
}

void id_index_deinit(struct id_index *x)
{
    free(x->slots);
    *x = (struct id_index){0};
}
