/* perfmap - names of code that a process made while it ran, from the perf map that it writes: lines
 * of "START SIZE NAME", the numbers in hex. Such files only grow and their processes use addresses
 * again, so a line replaces every older one that it overlaps. Bounded: the oldest lines make room.
 * What a file says is not believed. Does no I/O. Loop thread only. */
#ifndef AGENT_SYMBOLS_PERFMAP_H
#define AGENT_SYMBOLS_PERFMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

enum {
    PERFMAP_BYTES_MAX = 8 << 20, /* of one map: 50,000 names of 100 bytes; large node services have
                                    20,000 */
    PERFMAP_NAME_MAX = 255, /* longer names are cut */
};

struct perfmap; /* opaque */

enum status perfmap_new(struct perfmap **out);
void perfmap_free(struct perfmap *p); /* NULL is fine */

/* Takes the lines of `text`, the bytes of which it returns: what follows the last newline is to be
 * passed again, with more. Lines that make no sense are skipped. */
size_t perfmap_add(struct perfmap *p, struct slice text);

const char *perfmap_find(const struct perfmap *p, uint64_t address); /* NULL; until p changes */
/* Whether [start, end) holds trampolines of CPython: their names begin with "py::". */
bool perfmap_has_trampolines(const struct perfmap *p, uint64_t start, uint64_t end);

uint64_t perfmap_bytes(const struct perfmap *p); /* memory that it takes */

#endif
