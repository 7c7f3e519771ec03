/* Two arenas take turns: a run copies what is younger than its watermark into the other one. */
#include "agent/sequencer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 8 };

struct item {
    struct mono time;
    size_t offset; /* of the copy in the arena */
    uint32_t order; /* of adding */
    bool is_sample;
};

struct arena {
    uint8_t *bytes;
    size_t used, capacity;
    struct item *items;
    uint32_t item_count, item_capacity;
};

struct sequencer {
    struct arena arenas[2], *current;
    struct sequencer_counters counters;
};

/* A sample in the arena: the struct, then its addresses, kernel part first, then the copy of its
 * stack, if any. An event: the struct, then its path with the NUL, when it has one. */

enum status sequencer_new(struct sequencer **out)
{
    struct sequencer *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ST_NOMEM;
    s->current = &s->arenas[0];
    *out = s;
    return ST_OK;
}

void sequencer_free(struct sequencer *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        free(s->arenas[i].bytes);
        free(s->arenas[i].items);
    }
    free(s);
}

static bool reserve_bytes(struct arena *a, size_t length)
{
    size_t capacity = a->capacity == 0 ? 1 << 16 : a->capacity;
    uint8_t *bytes;

    if (length > SEQUENCER_BYTES_MAX - a->used)
        return false;
    while (capacity < a->used + length)
        capacity *= 2;
    if (capacity == a->capacity)
        return true;
    bytes = realloc(a->bytes, capacity);
    if (bytes == NULL)
        return false;
    a->bytes = bytes;
    a->capacity = capacity;
    return true;
}

static bool reserve_item(struct arena *a)
{
    uint32_t capacity = a->item_capacity == 0 ? 1024 : 2 * a->item_capacity;
    struct item *items;

    if (a->item_count < a->item_capacity)
        return true;
    items = realloc(a->items, capacity * sizeof(*items));
    if (items == NULL)
        return false;
    a->items = items;
    a->item_capacity = capacity;
    return true;
}

/* Room for a copy of `length` bytes; NULL: none. Valid until the next call. */
static uint8_t *append(struct arena *a, struct mono time, bool is_sample, size_t length)
{
    size_t padded = (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint8_t *place;

    if (!reserve_item(a) || !reserve_bytes(a, padded))
        return NULL;
    place = a->bytes + a->used;
    a->items[a->item_count] = (struct item){time, a->used, a->item_count, is_sample};
    a->item_count++;
    a->used += padded;
    return place;
}

static bool add_event(struct arena *a, const struct sideband_event *event)
{
    size_t path = event->path == NULL ? 0 : strlen(event->path) + 1;
    uint8_t *place = append(a, event->time, false, sizeof(*event) + path);

    if (place == NULL)
        return false;
    memcpy(place, event, sizeof(*event));
    if (path != 0)
        memcpy(place + sizeof(*event), event->path, path);
    return true;
}

static bool add_sample(struct arena *a, const struct sample *sample)
{
    size_t kernel = sample->kernel_count * sizeof(uint64_t);
    size_t user = sample->user_count * sizeof(uint64_t);
    size_t raw = sample->raw == NULL ? 0 : sizeof(*sample->raw) + sample->raw->bytes;
    uint8_t *place = append(a, sample->time, true, sizeof(*sample) + kernel + user + raw);

    if (place == NULL)
        return false;
    memcpy(place, sample, sizeof(*sample));
    if (kernel != 0)
        memcpy(place + sizeof(*sample), sample->kernel, kernel);
    if (user != 0)
        memcpy(place + sizeof(*sample) + kernel, sample->user, user);
    if (raw != 0)
        memcpy(place + sizeof(*sample) + kernel + user, sample->raw, raw);
    return true;
}

void sequencer_add_event(struct sequencer *s, const struct sideband_event *event)
{
    if (!add_event(s->current, event))
        s->counters.events_refused++;
}

void sequencer_add_sample(struct sequencer *s, const struct sample *sample)
{
    if (!add_sample(s->current, sample))
        s->counters.samples_refused++;
}

/* The copies hold pointers of another time: these set them right. */
static struct sideband_event event_at(const struct arena *a, const struct item *item)
{
    struct sideband_event event;

    memcpy(&event, a->bytes + item->offset, sizeof(event));
    if (event.path != NULL)
        event.path = (const char *)(a->bytes + item->offset + sizeof(event));
    return event;
}

static struct sample sample_at(const struct arena *a, const struct item *item)
{
    struct sample sample;

    memcpy(&sample, a->bytes + item->offset, sizeof(sample));
    sample.kernel = (const uint64_t *)(a->bytes + item->offset + sizeof(sample));
    sample.user = sample.kernel + sample.kernel_count;
    if (sample.raw != NULL)
        sample.raw = (const struct abi_raw_stack *)(sample.user + sample.user_count);
    return sample;
}

static int by_time(const void *left, const void *right)
{
    const struct item *a = left, *b = right;

    if (a->time.ns != b->time.ns)
        return a->time.ns < b->time.ns ? -1 : 1;
    if (a->is_sample != b->is_sample)
        return a->is_sample ? 1 : -1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool hand_over(const struct arena *a, const struct item *item,
                      const struct sequencer_handler *handler)
{
    if (item->is_sample) {
        struct sample sample = sample_at(a, item);

        return handler->sample(handler->arg, &sample);
    } else {
        struct sideband_event event = event_at(a, item);

        handler->event(handler->arg, &event);
        return true;
    }
}

static void keep(struct sequencer *s, const struct arena *from, const struct item *item)
{
    if (item->is_sample) {
        struct sample sample = sample_at(from, item);

        sequencer_add_sample(s, &sample);
    } else {
        struct sideband_event event = event_at(from, item);

        sequencer_add_event(s, &event);
    }
}

struct mono sequencer_run(struct sequencer *s, struct mono watermark,
                          const struct sequencer_handler *handler)
{
    struct arena *full = s->current;
    bool held = false;

    s->current = full == &s->arenas[0] ? &s->arenas[1] : &s->arenas[0];
    if (full->item_count > 1)
        qsort(full->items, full->item_count, sizeof(*full->items), by_time);
    for (uint32_t i = 0; i < full->item_count; i++) {
        const struct item *item = &full->items[i];

        if (item->time.ns <= watermark.ns && hand_over(full, item, handler))
            continue;
        if (item->time.ns <= watermark.ns) { /* not taken: nothing after it is, either */
            watermark.ns = item->time.ns - 1;
            held = true;
        }
        if (held && item->is_sample && handler->ahead != NULL) {
            struct sample sample = sample_at(full, item);

            handler->ahead(handler->arg, &sample);
        }
        keep(s, full, item);
    }
    full->used = 0;
    full->item_count = 0;
    return watermark;
}

struct sequencer_counters sequencer_read_counters(const struct sequencer *s)
{
    return s->counters;
}
