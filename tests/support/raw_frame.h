/* raw_frame - bytes as a zstd frame that compresses nothing: for hostile content behind an honest
 * wrapping, made in no time. */
#ifndef TESTS_SUPPORT_RAW_FRAME_H
#define TESTS_SUPPORT_RAW_FRAME_H

#include <stdlib.h>
#include <string.h>

#include "common/compress.h"

enum {
    RAW_FRAME_HEADER = 9, /* magic, descriptor (one segment, 4-byte size), size */
    RAW_BLOCK_MAX = 128 * 1024,
    RAW_BLOCK_HEADER = 3,
};

static inline void raw_frame_number(uint8_t *out, unsigned bytes, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        out[i] = (uint8_t)(value >> 8 * i);
}

/* RFC 8878, section 3.1.1. The caller deinits; NULL bytes: out of memory. */
static inline struct blob raw_frame(struct slice plain)
{
    size_t blocks = plain.length / RAW_BLOCK_MAX + 1, left = plain.length;
    struct blob out = {malloc(RAW_FRAME_HEADER + blocks * RAW_BLOCK_HEADER + plain.length), 0};
    uint8_t *next = out.bytes;

    if (next == NULL)
        return out;
    raw_frame_number(next, 4, 0xfd2fb528);
    next[4] = 0xa0;
    raw_frame_number(next + 5, 4, plain.length);
    next += RAW_FRAME_HEADER;
    do {
        size_t length = left < RAW_BLOCK_MAX ? left : RAW_BLOCK_MAX;

        raw_frame_number(next, RAW_BLOCK_HEADER, length << 3 | (length == left));
        if (length > 0)
            memcpy(next + RAW_BLOCK_HEADER, plain.bytes + plain.length - left, length);
        next += RAW_BLOCK_HEADER + length;
        left -= length;
    } while (left > 0);
    out.length = (size_t)(next - out.bytes);
    return out;
}

#endif
