/* dictionary - content by dense id: strings, binaries, frames and calling-context nodes.
 * Held in memory, mirrored from the catalog at open, appended to by the writer thread; an entry
 * never moves or changes, so any thread reads without a lock every id it got from a committed
 * chunk. Children have larger ids than their parents, so one sweep down the ids adds up a tree. */
#ifndef COORDINATOR_STORE_DICTIONARY_H
#define COORDINATOR_STORE_DICTIONARY_H

#include <stdint.h>

#include "common/chunk.h"

enum {
    DICTIONARY_STRINGS_MAX = 1 << 24,
    DICTIONARY_BINARIES_MAX = 1 << 20,
    DICTIONARY_FRAMES_MAX = 1 << 26,
    DICTIONARY_NODES_MAX = 1 << 28, /* 2 GiB at 8 bytes: about a year of a thousand services */
};

struct dictionary_limits { /* entries of each kind; 0: the maximum above */
    uint32_t strings, binaries, frames, nodes;
};

struct dictionary; /* opaque */

/* An id that was never given: "" / NULL / a root node without a frame. */
const char *dictionary_string(const struct dictionary *d, uint32_t id);
const struct chunk_binary *dictionary_binary(const struct dictionary *d, uint32_t id);
const struct chunk_frame *dictionary_frame(const struct dictionary *d, uint32_t id);
struct chunk_node dictionary_node(const struct dictionary *d, uint32_t id);
uint32_t dictionary_node_count(const struct dictionary *d);

#endif
