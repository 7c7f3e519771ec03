#include "agent/unwind/dwarf_cursor.h"

#include <string.h>

/* The formats of a pointer; with DWARF_POINTER_SIGNED the same, signed. */
enum {
    FORMAT_ADDRESS = 0x00,
    FORMAT_LEB = 0x01,
    FORMAT_2 = 0x02,
    FORMAT_4 = 0x03,
    FORMAT_8 = 0x04
};

enum { BASE_NONE = 0x00, BASE_SELF = 0x10, BASE_TEXT = 0x20, BASE_DATA = 0x30 };

enum { ADDRESS_BYTES = 8 };

struct dwarf_cursor dwarf_cursor(struct slice bytes, uint64_t address)
{
    static const uint8_t nothing[1]; /* an empty slice may have no place */
    const uint8_t *start = bytes.length > 0 ? bytes.bytes : nothing;

    return (struct dwarf_cursor){start, start + bytes.length, address, false};
}

size_t dwarf_left(const struct dwarf_cursor *c)
{
    return c->failed ? 0 : (size_t)(c->end - c->next);
}

/* NULL, and failed, when that many are not left. */
static const uint8_t *take(struct dwarf_cursor *c, uint64_t length)
{
    const uint8_t *bytes = c->next;

    if (c->failed || length > (size_t)(c->end - c->next)) {
        c->failed = true;
        return NULL;
    }
    c->next += length;
    c->address += length;
    return bytes;
}

uint64_t dwarf_unsigned(struct dwarf_cursor *c, unsigned bytes)
{
    const uint8_t *b = take(c, bytes);
    uint64_t value = 0;

    if (b == NULL)
        return 0;
    for (unsigned i = 0; i < bytes && i < sizeof(value); i++)
        value |= (uint64_t)b[i] << 8 * i;
    return value;
}

/* *out_bits: how many the number was written with. */
static uint64_t leb(struct dwarf_cursor *c, unsigned *out_bits)
{
    uint64_t value = 0;
    unsigned bits = 0;
    uint8_t byte = 0;

    do {
        const uint8_t *b = take(c, 1);

        if (b == NULL)
            return 0;
        byte = *b;
        if (bits < 64)
            value |= (uint64_t)(byte & 0x7f) << bits;
        bits += 7;
    } while ((byte & 0x80) != 0);
    *out_bits = bits;
    return value;
}

uint64_t dwarf_uleb(struct dwarf_cursor *c)
{
    unsigned bits;

    return leb(c, &bits);
}

int64_t dwarf_sleb(struct dwarf_cursor *c)
{
    unsigned bits = 64;
    uint64_t value = leb(c, &bits);

    if (bits < 64 && (value >> (bits - 1) & 1) != 0)
        value |= ~UINT64_C(0) << bits;
    return (int64_t)value;
}

struct slice dwarf_bytes(struct dwarf_cursor *c, uint64_t length)
{
    const uint8_t *bytes = take(c, length);

    return bytes == NULL ? (struct slice){c->end, 0} : (struct slice){bytes, (size_t)length};
}

const char *dwarf_text(struct dwarf_cursor *c)
{
    const uint8_t *nul = dwarf_left(c) > 0 ? memchr(c->next, '\0', dwarf_left(c)) : NULL;

    if (nul == NULL) {
        c->failed = true;
        return "";
    }
    return (const char *)take(c, (uint64_t)(nul - c->next) + 1);
}

static uint64_t number(struct dwarf_cursor *c, uint8_t encoding)
{
    bool has_sign = (encoding & DWARF_POINTER_SIGNED) != 0;

    switch (encoding & (DWARF_POINTER_FORMAT & ~DWARF_POINTER_SIGNED)) {
    case FORMAT_ADDRESS:
        return dwarf_unsigned(c, ADDRESS_BYTES);
    case FORMAT_LEB:
        return has_sign ? (uint64_t)dwarf_sleb(c) : dwarf_uleb(c);
    case FORMAT_2:
        return has_sign ? (uint64_t)(int16_t)dwarf_unsigned(c, 2) : dwarf_unsigned(c, 2);
    case FORMAT_4:
        return has_sign ? (uint64_t)(int32_t)dwarf_unsigned(c, 4) : dwarf_unsigned(c, 4);
    case FORMAT_8:
        return dwarf_unsigned(c, 8);
    default:
        c->failed = true;
        return 0;
    }
}

uint64_t dwarf_pointer(struct dwarf_cursor *c, uint8_t encoding, struct dwarf_bases bases)
{
    uint64_t self = c->address;
    uint64_t value = number(c, encoding);

    if ((encoding & DWARF_POINTER_INDIRECT) != 0)
        c->failed = true;
    switch (encoding & DWARF_POINTER_BASE) {
    case BASE_NONE:
        break;
    case BASE_SELF:
        value += self;
        break;
    case BASE_TEXT:
        value += bases.text;
        break;
    case BASE_DATA:
        value += bases.data;
        break;
    default:
        c->failed = true;
    }
    return c->failed ? 0 : value;
}
