/* Varint columns: runs of LEB128 numbers inside a bin, small values in one byte. */
#include <stdlib.h>
#include <string.h>

#include "common/wire.h"

enum {
    VARINT_MAX = 10, /* bytes of 64 bits, 7 to a byte */
    FIRST_CAPACITY = 256,
};

static bool reserve(struct column *c, size_t more)
{
    size_t capacity = c->capacity > 0 ? c->capacity : FIRST_CAPACITY;
    uint8_t *bytes;

    if (c->failed)
        return false;
    if (c->capacity - c->length >= more)
        return true;
    while (capacity - c->length < more)
        capacity *= 2;
    bytes = realloc(c->bytes, capacity);
    if (bytes == NULL) {
        c->failed = true;
        return false;
    }
    c->bytes = bytes;
    c->capacity = capacity;
    return true;
}

void column_put(struct column *c, uint64_t value)
{
    if (!reserve(c, VARINT_MAX))
        return;
    for (; value >= 0x80; value >>= 7)
        c->bytes[c->length++] = (uint8_t)(value | 0x80);
    c->bytes[c->length++] = (uint8_t)value;
}

void column_put_bytes(struct column *c, const void *bytes, size_t length)
{
    if (length == 0 || !reserve(c, length))
        return;
    memcpy(c->bytes + c->length, bytes, length);
    c->length += length;
}

void column_put_signed(struct column *c, int64_t value)
{
    uint64_t sign = value < 0 ? UINT64_MAX : 0;

    column_put(c, (uint64_t)value << 1 ^ sign);
}

void column_deinit(struct column *c)
{
    free(c->bytes);
    *c = (struct column){0};
}

/* A number of more than one byte. */
static uint64_t get_long(struct wire_reader *r)
{
    const uint8_t *next = r->next;
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (next == r->end || shift > 63) {
            wire_fail(r, ST_INVALID);
            return 0;
        }
        byte = *next++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);

    /* The tenth byte holds one bit; a last byte of zero says what a shorter form would have. */
    if ((shift > 63 && byte > 1) || byte == 0) {
        wire_fail(r, ST_INVALID);
        return 0;
    }
    r->next = next;
    return value;
}

uint64_t column_get(struct wire_reader *r)
{
    if (r->status != ST_OK)
        return 0;
    if (r->next != r->end && *r->next < 0x80)
        return *r->next++;
    return get_long(r);
}

int64_t column_get_signed(struct wire_reader *r)
{
    uint64_t value = column_get(r);
    uint64_t sign = value & 1 ? UINT64_MAX : 0;

    return (int64_t)(value >> 1 ^ sign);
}
