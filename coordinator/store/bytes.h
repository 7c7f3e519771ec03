/* bytes - fixed-width big-endian numbers: keys that sort as numbers, and packed records. */
#ifndef COORDINATOR_STORE_BYTES_H
#define COORDINATOR_STORE_BYTES_H

#include <stdint.h>

static inline void put_be(uint8_t *to, uint64_t value, unsigned width)
{
    for (unsigned i = 0; i < width; i++)
        to[i] = (uint8_t)(value >> 8 * (width - 1 - i));
}

static inline uint64_t get_be(const uint8_t *from, unsigned width)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < width; i++)
        value = value << 8 | from[i];
    return value;
}

#endif
