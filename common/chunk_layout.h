/* chunk_layout - what chunk's own files share: the numbers on the wire and the rules.
 * Include only from common/chunk*.c. schemas/README.md describes the same in words. */
#ifndef COMMON_CHUNK_LAYOUT_H
#define COMMON_CHUNK_LAYOUT_H

#include "common/chunk.h"

enum { CHUNK_LAYOUT = 1 }; /* a layout with another number is not ours to read */

/* Newer writers may add keys; this bounds how many we skip. */
enum { CHUNK_KEYS_MAX = 64 };

/* Keys are never reused. Each enum is one map. */
enum chunk_key { CHUNK_KEY_LAYOUT = 1, CHUNK_KEY_INFO, CHUNK_KEY_DICTIONARY, CHUNK_KEY_SAMPLES };

enum info_key {
    INFO_PROFILER = 1,
    INFO_SEQUENCE,
    INFO_INCARNATION,
    INFO_FINAL,
    INFO_START,
    INFO_LENGTH,
    INFO_WALL_START,
    INFO_CLOCK_OFFSET,
    INFO_EVENT,
    INFO_PERIOD,
    INFO_INCLUSION,
    INFO_CPUS,
    INFO_LEDGER,
    INFO_COST,
    INFO_WALKS,
    INFO_KEYS = INFO_WALKS,
};

enum dictionary_key {
    DICTIONARY_STRINGS = 1,
    DICTIONARY_BINARIES,
    DICTIONARY_FRAMES,
    DICTIONARY_NODES,
    DICTIONARY_KEYS = DICTIONARY_NODES,
};

enum samples_key {
    SAMPLES_LABELS = 1,
    SAMPLES_PROCESSES,
    SAMPLES_THREADS,
    SAMPLES_GROUPS,
    SAMPLES_TICKS,
    SAMPLES_KEYS = SAMPLES_TICKS,
};

/* Columns of each table, in order; the last is their number. */
enum { STRING_TEXT, STRING_COLUMNS };
enum { BINARY_ID, BINARY_PATH, BINARY_COLUMNS };
enum { FRAME_KIND, FRAME_BINARY, FRAME_NAME, FRAME_OFFSET, FRAME_COLUMNS };
enum { NODE_UP, NODE_FRAME, NODE_COLUMNS };
enum { LABEL_KEY, LABEL_VALUE, LABEL_COLUMNS };
enum { PROCESS_PID, PROCESS_START, PROCESS_COMM, PROCESS_LABELS, PROCESS_COLUMNS };
enum { THREAD_PROCESS, THREAD_TID, THREAD_NAME, THREAD_COLUMNS };
enum { GROUP_LEAF, GROUP_THREAD, GROUP_COUNT, GROUP_COLUMNS };
enum { TICK_STEP, TICK_COLUMNS };

/* An index that may be absent travels one higher, so that absence is 0 and small. */
static inline uint32_t chunk_optional_put(uint32_t index)
{
    return index + 1; /* CHUNK_NO_PARENT wraps to 0 */
}

static inline uint32_t chunk_optional_get(uint32_t number)
{
    return number - 1;
}

/* The rules of chunk.h, for what is about to be written and for what was read alike. */
enum status chunk_info_check(const struct chunk_info *info, const char **why);
enum status chunk_check(const struct chunk *c, enum chunk_form form, const char **why);

#endif
