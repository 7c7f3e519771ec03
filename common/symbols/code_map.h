/* code_map - how addresses in a binary's code relate to offsets in its file. Symbols have
 * addresses, samples have offsets; the executable segments tell, whatever the file's type and
 * alignment. Value. */
#ifndef COMMON_SYMBOLS_CODE_MAP_H
#define COMMON_SYMBOLS_CODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

enum { CODE_SEGMENTS_MAX = 128 }; /* executable ones; real files have one or two */

struct code_segment {
    uint64_t address, bytes, offset;
};

struct code_map {
    uint32_t count;
    struct code_segment segments[CODE_SEGMENTS_MAX];
};

static inline bool code_map_offset(const struct code_map *map, uint64_t address, uint64_t *out)
{
    for (uint32_t i = 0; i < map->count; i++) {
        const struct code_segment *s = &map->segments[i];

        if (address >= s->address && address - s->address < s->bytes) {
            *out = address - s->address + s->offset;
            return true;
        }
    }
    return false;
}

#endif
