#include "common/id.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static const char hex_digits[] = "0123456789abcdef";

/* The kernel's generator never fails for 256 bytes or less once it is seeded; a machine where it is
 * missing cannot give identities, and two equal ids would merge two profilers. */
static void random_bytes(void *out, size_t length)
{
    if (getrandom(out, length, 0) != (ssize_t)length)
        abort();
}

static void to_hex(const uint8_t *bytes, size_t length, char *text)
{
    for (size_t i = 0; i < length; i++) {
        text[2 * i] = hex_digits[bytes[i] >> 4];
        text[2 * i + 1] = hex_digits[bytes[i] & 15];
    }
    text[2 * length] = '\0';
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool from_hex(const char *text, size_t length, uint8_t *out)
{
    for (size_t i = 0; i < length; i++) {
        int high = digit_value(text[2 * i]);
        int low = digit_value(text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

struct id128 id128_random(void)
{
    struct id128 id;

    random_bytes(&id, sizeof(id));
    return id;
}

uint64_t random_u64(void)
{
    uint64_t value;

    random_bytes(&value, sizeof(value));
    return value;
}

bool id128_equal(struct id128 a, struct id128 b)
{
    return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

bool id128_is_zero(struct id128 id)
{
    return id128_equal(id, (struct id128){{0}});
}

const char *id128_format(struct id128 id, char text[ID128_TEXT_MAX])
{
    to_hex(id.bytes, ID128_BYTES, text);
    return text;
}

enum status id128_parse(const char *text, struct id128 *out)
{
    struct id128 id;

    if (strlen(text) != (size_t)2 * ID128_BYTES || !from_hex(text, ID128_BYTES, id.bytes))
        return ST_INVALID;
    *out = id;
    return ST_OK;
}

enum status build_id_from_bytes(const uint8_t *bytes, size_t length, struct build_id *out)
{
    struct build_id id = {0};

    if (length == 0)
        return ST_INVALID;
    if (length > BUILD_ID_BYTES)
        return ST_TOO_BIG;
    id.length = (uint8_t)length;
    memcpy(id.bytes, bytes, length);
    *out = id;
    return ST_OK;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

const char *build_id_format(const struct build_id *id, char text[BUILD_ID_TEXT_MAX])
{
    to_hex(id->bytes, id->length, text);
    return text;
}

enum status build_id_parse(const char *text, struct build_id *out)
{
    struct build_id id = {0};
    size_t digits = strlen(text);

    if (digits == 0 || digits % 2 != 0)
        return ST_INVALID;
    if (digits / 2 > BUILD_ID_BYTES)
        return ST_TOO_BIG;
    if (!from_hex(text, digits / 2, id.bytes))
        return ST_INVALID;
    id.length = (uint8_t)(digits / 2);
    *out = id;
    return ST_OK;
}
