#include "coordinator/http/outbox.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4096 };

size_t outbox_waiting(const struct outbox *o)
{
    return o->end - o->start;
}

static enum status make_room(struct outbox *o, size_t length)
{
    size_t waiting = outbox_waiting(o);
    size_t capacity = o->capacity == 0 ? FIRST_CAPACITY : o->capacity;
    uint8_t *bytes;

    if (o->capacity - o->end >= length)
        return ST_OK;
    while (capacity - waiting < length)
        capacity *= 2;
    bytes = malloc(capacity);
    if (bytes == NULL)
        return ST_NOMEM;
    if (waiting > 0)
        memcpy(bytes, o->bytes + o->start, waiting);
    free(o->bytes);
    *o = (struct outbox){.bytes = bytes, .end = waiting, .capacity = capacity};
    return ST_OK;
}

static void add(struct outbox *o, const char *text, size_t length)
{
    memcpy(o->bytes + o->end, text, length);
    o->end += length;
}

enum status outbox_put(struct outbox *o, const char *text)
{
    size_t length = strlen(text);
    enum status st = make_room(o, length);

    if (st == ST_OK)
        add(o, text, length);
    return st;
}

enum status outbox_put_event(struct outbox *o, const char *event, const char *data)
{
    static const char before_event[] = "event: ", before_data[] = "\ndata: ", after[] = "\n\n";
    size_t event_length = strlen(event), data_length = strlen(data);
    enum status st = make_room(o, event_length + data_length + sizeof(before_event) +
                                      sizeof(before_data) + sizeof(after));

    if (st != ST_OK)
        return st;
    add(o, before_event, sizeof(before_event) - 1);
    add(o, event, event_length);
    add(o, before_data, sizeof(before_data) - 1);
    add(o, data, data_length);
    add(o, after, sizeof(after) - 1);
    return ST_OK;
}

size_t outbox_take(struct outbox *o, char *to, size_t room)
{
    size_t taken = outbox_waiting(o) < room ? outbox_waiting(o) : room;

    if (taken > 0)
        memcpy(to, o->bytes + o->start, taken);
    o->start += taken;
    if (o->start == o->end)
        o->start = o->end = 0;
    return taken;
}

void outbox_deinit(struct outbox *o)
{
    free(o->bytes);
    *o = (struct outbox){0};
}
