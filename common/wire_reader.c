/* The reading half of wire: a pull decoder that allocates nothing.
 * Our own and not msgpack-c's: that one allocates by declared counts (five bytes ask it for
 * 2.4 GB), accepts duplicate keys and takes anything for UTF-8. */
#include "common/wire.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

/* First bytes of msgpack values: https://github.com/msgpack/msgpack/blob/master/spec.md */
enum {
    TAG_FIXINT_LAST = 0x7f,
    TAG_FIXMAP = 0x80,
    TAG_FIXARRAY = 0x90,
    TAG_FIXSTR = 0xa0,
    TAG_FIXSTR_LAST = 0xbf,
    TAG_NIL = 0xc0,
    TAG_UNUSED = 0xc1,
    TAG_FALSE = 0xc2,
    TAG_TRUE = 0xc3,
    TAG_BIN8 = 0xc4,
    TAG_BIN32 = 0xc6,
    TAG_EXT8 = 0xc7,
    TAG_EXT32 = 0xc9,
    TAG_FLOAT32 = 0xca,
    TAG_FLOAT64 = 0xcb,
    TAG_UINT8 = 0xcc,
    TAG_UINT64 = 0xcf,
    TAG_INT8 = 0xd0,
    TAG_INT64 = 0xd3,
    TAG_FIXEXT1 = 0xd4,
    TAG_FIXEXT16 = 0xd8,
    TAG_STR8 = 0xd9,
    TAG_STR32 = 0xdb,
    TAG_ARRAY16 = 0xdc,
    TAG_ARRAY32 = 0xdd,
    TAG_MAP16 = 0xde,
    TAG_MAP32 = 0xdf,
    TAG_NEGATIVE_FIXINT = 0xe0,
};

void wire_reader_init(struct wire_reader *r, struct slice input)
{
    r->next = input.bytes;
    r->end = input.length > 0 ? input.bytes + input.length : input.bytes;
    r->status = ST_OK;
}

enum status wire_reader_status(const struct wire_reader *r)
{
    return r->status;
}

void wire_fail(struct wire_reader *r, enum status why)
{
    if (r->status == ST_OK)
        r->status = why;
}

enum status wire_finish(struct wire_reader *r)
{
    if (r->next != r->end)
        wire_fail(r, ST_INVALID);
    return r->status;
}

static size_t bytes_left(const struct wire_reader *r)
{
    return (size_t)(r->end - r->next);
}

/* The next `length` bytes, consumed; NULL after a failure. */
static const uint8_t *take(struct wire_reader *r, size_t length)
{
    const uint8_t *bytes = r->next;

    if (bytes_left(r) < length)
        wire_fail(r, ST_INVALID);
    if (r->status != ST_OK)
        return NULL;
    if (length > 0)
        r->next += length;
    return bytes;
}

/* A big-endian number of `width` bytes. */
static uint64_t take_number(struct wire_reader *r, size_t width)
{
    const uint8_t *bytes = take(r, width);
    uint64_t value = 0;

    for (size_t i = 0; bytes != NULL && i < width; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* After a failure: TAG_UNUSED, which every caller refuses. */
static uint8_t take_tag(struct wire_reader *r)
{
    const uint8_t *bytes = take(r, 1);

    return bytes != NULL ? bytes[0] : TAG_UNUSED;
}

/* ---- numbers ---- */

struct integer {
    uint64_t bits; /* two's complement when negative */
    bool negative;
};

static uint64_t sign_extend(uint64_t value, size_t width)
{
    uint64_t sign = UINT64_C(1) << (8 * width - 1);

    return (value ^ sign) - sign;
}

static struct integer take_integer(struct wire_reader *r)
{
    uint8_t tag = take_tag(r);
    struct integer n = {0};

    if (tag <= TAG_FIXINT_LAST) {
        n.bits = tag;
    } else if (tag >= TAG_NEGATIVE_FIXINT) {
        n.bits = sign_extend(tag, 1);
        n.negative = true;
    } else if (tag >= TAG_UINT8 && tag <= TAG_UINT64) {
        n.bits = take_number(r, (size_t)1 << (tag - TAG_UINT8));
    } else if (tag >= TAG_INT8 && tag <= TAG_INT64) {
        size_t width = (size_t)1 << (tag - TAG_INT8);

        n.bits = sign_extend(take_number(r, width), width);
        n.negative = n.bits >> 63;
    } else {
        wire_fail(r, ST_INVALID);
    }
    return n;
}

uint64_t wire_get_u64(struct wire_reader *r)
{
    struct integer n = take_integer(r);

    if (n.negative)
        wire_fail(r, ST_INVALID);
    return r->status == ST_OK ? n.bits : 0;
}

uint32_t wire_get_u32(struct wire_reader *r)
{
    uint64_t value = wire_get_u64(r);

    if (value > UINT32_MAX)
        wire_fail(r, ST_INVALID);
    return r->status == ST_OK ? (uint32_t)value : 0;
}

int64_t wire_get_i64(struct wire_reader *r)
{
    struct integer n = take_integer(r);

    if (!n.negative && n.bits > INT64_MAX)
        wire_fail(r, ST_INVALID);
    return r->status == ST_OK ? (int64_t)n.bits : 0;
}

static double take_double(struct wire_reader *r)
{
    uint64_t bits = take_number(r, sizeof(double));
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static double take_float(struct wire_reader *r)
{
    uint32_t bits = (uint32_t)take_number(r, sizeof(float));
    float value;

    memcpy(&value, &bits, sizeof(value));
    return (double)value;
}

double wire_get_f64(struct wire_reader *r)
{
    uint8_t tag = take_tag(r);
    double value = 0;

    if (tag == TAG_FLOAT64)
        value = take_double(r);
    else if (tag == TAG_FLOAT32)
        value = take_float(r);
    else
        wire_fail(r, ST_INVALID);
    if (!isfinite(value))
        wire_fail(r, ST_INVALID);
    return r->status == ST_OK ? value : 0;
}

bool wire_get_bool(struct wire_reader *r)
{
    uint8_t tag = take_tag(r);

    if (tag != TAG_TRUE && tag != TAG_FALSE)
        wire_fail(r, ST_INVALID);
    return tag == TAG_TRUE;
}

/* ---- containers ---- */

/* Every value takes a byte at least: a count that the bytes left cannot hold is a lie. */
static uint32_t checked_count(struct wire_reader *r, uint64_t count, uint32_t max, uint32_t values)
{
    if (count > max)
        wire_fail(r, ST_TOO_BIG);
    else if (count * values > bytes_left(r))
        wire_fail(r, ST_INVALID);
    return r->status == ST_OK ? (uint32_t)count : 0;
}

static uint64_t take_count(struct wire_reader *r, uint8_t fix, uint8_t tag16, uint8_t tag32)
{
    uint8_t tag = take_tag(r);

    if ((tag & 0xf0) == fix)
        return tag & 0x0f;
    if (tag == tag16)
        return take_number(r, 2);
    if (tag == tag32)
        return take_number(r, 4);
    wire_fail(r, ST_INVALID);
    return 0;
}

uint32_t wire_get_map(struct wire_reader *r, uint32_t max_pairs)
{
    return checked_count(r, take_count(r, TAG_FIXMAP, TAG_MAP16, TAG_MAP32), max_pairs, 2);
}

uint32_t wire_get_array(struct wire_reader *r, uint32_t max_items)
{
    return checked_count(r, take_count(r, TAG_FIXARRAY, TAG_ARRAY16, TAG_ARRAY32), max_items, 1);
}

bool wire_key(struct wire_reader *r, uint64_t *key)
{
    uint64_t next = wire_get_u64(r);

    if (next <= *key)
        wire_fail(r, ST_INVALID);
    if (r->status != ST_OK)
        return false;
    *key = next;
    return true;
}

/* ---- text and bytes ---- */

struct slice wire_take(struct wire_reader *r, size_t length)
{
    const uint8_t *bytes = take(r, length);

    return bytes != NULL ? (struct slice){bytes, length} : (struct slice){0};
}

static struct slice take_slice(struct wire_reader *r, uint64_t length, uint32_t max_bytes)
{
    if (length > max_bytes)
        wire_fail(r, ST_TOO_BIG);
    return wire_take(r, length);
}

struct slice wire_get_str(struct wire_reader *r, uint32_t max_bytes)
{
    uint8_t tag = take_tag(r);
    uint64_t length = 0;
    struct slice s;

    if (tag >= TAG_FIXSTR && tag <= TAG_FIXSTR_LAST)
        length = tag - TAG_FIXSTR;
    else if (tag >= TAG_STR8 && tag <= TAG_STR32)
        length = take_number(r, (size_t)1 << (tag - TAG_STR8));
    else
        wire_fail(r, ST_INVALID);

    s = take_slice(r, length, max_bytes);
    if (s.length == 0)
        return s;
    if (memchr(s.bytes, 0, s.length) != NULL || !utf8_valid((const char *)s.bytes, s.length)) {
        wire_fail(r, ST_INVALID);
        return (struct slice){0};
    }
    return s;
}

struct slice wire_get_bin(struct wire_reader *r, uint32_t max_bytes)
{
    uint8_t tag = take_tag(r);
    uint64_t length = 0;

    if (tag >= TAG_BIN8 && tag <= TAG_BIN32)
        length = take_number(r, (size_t)1 << (tag - TAG_BIN8));
    else
        wire_fail(r, ST_INVALID);
    return take_slice(r, length, max_bytes);
}

void wire_get_bytes(struct wire_reader *r, void *out, uint32_t length)
{
    struct slice s = wire_get_bin(r, length);

    if (s.length != length)
        wire_fail(r, ST_INVALID);
    if (r->status == ST_OK && length > 0)
        memcpy(out, s.bytes, length);
}

char *wire_dup_str(struct wire_reader *r, uint32_t max_bytes)
{
    struct slice s = wire_get_str(r, max_bytes);
    char *text;

    if (r->status != ST_OK)
        return NULL;
    text = malloc(s.length + 1);
    if (text == NULL) {
        wire_fail(r, ST_NOMEM);
        return NULL;
    }
    if (s.length > 0)
        memcpy(text, s.bytes, s.length);
    text[s.length] = '\0';
    return text;
}

/* ---- skipping ---- */

/* Bytes after the tag of a value without children; its length field, if any, is consumed. */
static uint64_t take_scalar_length(struct wire_reader *r, uint8_t tag)
{
    if (tag <= TAG_FIXINT_LAST || tag >= TAG_NEGATIVE_FIXINT)
        return 0;
    if (tag >= TAG_FIXSTR && tag <= TAG_FIXSTR_LAST)
        return tag - TAG_FIXSTR;
    if (tag >= TAG_BIN8 && tag <= TAG_BIN32)
        return take_number(r, (size_t)1 << (tag - TAG_BIN8));
    if (tag >= TAG_STR8 && tag <= TAG_STR32)
        return take_number(r, (size_t)1 << (tag - TAG_STR8));
    if (tag >= TAG_EXT8 && tag <= TAG_EXT32) /* a type byte follows the length */
        return take_number(r, (size_t)1 << (tag - TAG_EXT8)) + 1;
    if (tag >= TAG_FIXEXT1 && tag <= TAG_FIXEXT16)
        return (UINT64_C(1) << (tag - TAG_FIXEXT1)) + 1;
    if (tag >= TAG_UINT8 && tag <= TAG_UINT64)
        return UINT64_C(1) << (tag - TAG_UINT8);
    if (tag >= TAG_INT8 && tag <= TAG_INT64)
        return UINT64_C(1) << (tag - TAG_INT8);
    if (tag == TAG_FLOAT32 || tag == TAG_FLOAT64)
        return tag == TAG_FLOAT32 ? sizeof(float) : sizeof(double);
    if (tag == TAG_UNUSED)
        wire_fail(r, ST_INVALID);
    return 0; /* nil, false, true */
}

/* Consumes one value without its children and returns how many of them follow. */
static uint32_t skip_head(struct wire_reader *r)
{
    uint8_t tag = take_tag(r);

    if (tag >= TAG_FIXMAP && tag < TAG_FIXARRAY)
        return 2 * checked_count(r, tag & 0x0f, UINT32_MAX / 2, 2);
    if (tag >= TAG_FIXARRAY && tag < TAG_FIXSTR)
        return checked_count(r, tag & 0x0f, UINT32_MAX, 1);
    if (tag == TAG_MAP16 || tag == TAG_MAP32)
        return 2 * checked_count(r, take_number(r, tag == TAG_MAP16 ? 2 : 4), UINT32_MAX / 2, 2);
    if (tag == TAG_ARRAY16 || tag == TAG_ARRAY32)
        return checked_count(r, take_number(r, tag == TAG_ARRAY16 ? 2 : 4), UINT32_MAX, 1);

    (void)take(r, take_scalar_length(r, tag));
    return 0;
}

void wire_skip(struct wire_reader *r)
{
    uint32_t left[WIRE_DEPTH_MAX]; /* values still to skip, by nesting */
    unsigned depth = 0;

    do {
        uint32_t children = skip_head(r);

        if (children > 0 && depth == WIRE_DEPTH_MAX)
            wire_fail(r, ST_TOO_BIG);
        else if (children > 0)
            left[depth++] = children;
        else
            while (depth > 0 && --left[depth - 1] == 0)
                depth--;
    } while (depth > 0 && r->status == ST_OK);
}
