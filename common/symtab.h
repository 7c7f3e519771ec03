/* symtab - the function symbols of one binary: what an agent uploads once per build id and what the
 * coordinator stores. Sorted by start; a look-up is a binary search. Values; any thread. */
#ifndef COMMON_SYMTAB_H
#define COMMON_SYMTAB_H

#include <stdint.h>

#include "common/compress.h"
#include "common/id.h"
#include "common/status.h"

enum {
    SYMTAB_SYMBOLS_MAX = 4 << 20,
    SYMTAB_NAME_MAX = 4096, /* bytes; longer mangled names are cut */
    SYMTAB_PLAIN_MAX = 512 << 20,
    SYMTAB_PACKED_MAX = 128 << 20,
};

struct symbol {
    uint64_t start; /* file offset (native) or offset from _text (kernel) */
    uint64_t size; /* 0: up to the next symbol */
    uint32_t name; /* offset in the table's text */
};

struct symtab { /* zero-initialised is empty */
    struct symbol *symbols;
    uint32_t count, capacity;
    char *text; /* NUL-terminated names, back to back */
    size_t text_length, text_capacity;
};

/* Copies `name`, cut to SYMTAB_NAME_MAX and repaired to UTF-8. ST_INVALID: empty name; ST_FULL. */
enum status symtab_add(struct symtab *t, uint64_t start, uint64_t size, const char *name);
/* Sorts, and of several names for one address keeps one: sized before unsized, then the one with
 * fewest leading underscores, then the first by strcmp. Call once after the last add. */
void symtab_sort(struct symtab *t);
/* The innermost symbol that covers `offset`, the last unsized one without end; NULL: none does.
 * Needs a sorted table; valid until t changes. */
const char *symtab_find(const struct symtab *t, uint64_t offset);
void symtab_deinit(struct symtab *t);

/* zstd over msgpack. ST_BAD_STATE: not sorted; ST_TOO_BIG. */
enum status symtab_encode(const struct symtab *t, struct blob *out);
enum status symtab_decode(struct slice bytes, struct symtab *out); /* refuses unsorted tables */

#endif
