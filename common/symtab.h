/* symtab - the function symbols of one binary, and where in the source its code comes from: what an
 * agent uploads once per build id and what the coordinator stores. Sorted by start; a look-up is a
 * binary search. Values; any thread. */
#ifndef COMMON_SYMTAB_H
#define COMMON_SYMTAB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/compress.h"
#include "common/id.h"
#include "common/places.h"
#include "common/status.h"

enum {
    SYMTAB_SYMBOLS_MAX = 4 << 20,
    SYMTAB_NAME_MAX = 4096, /* bytes; longer mangled names are cut */
    SYMTAB_PLAIN_MAX = 512 << 20,
    SYMTAB_PACKED_MAX = 128 << 20,
};

/* What the table was read from: bits, which never change their meaning. */
enum symtab_source {
    SYMTAB_FROM_DYNSYM = 1 << 0, /* only what the binary exports */
    SYMTAB_FROM_SYMTAB = 1 << 1,
    SYMTAB_FROM_DEBUGDATA = 1 << 2, /* .gnu_debugdata */
    SYMTAB_FROM_GOPCLNTAB = 1 << 3,
    SYMTAB_FROM_DWARF = 1 << 4, /* there are places */
    SYMTAB_FROM_DEBUG_FILE = 1 << 5, /* symbols or places came from a separate file */
    SYMTAB_FROM_KALLSYMS = 1 << 6,
};

/* How good a table is; a better one may take the place of a worse one, never the reverse. */
enum symtab_grade {
    SYMTAB_GRADE_EXPORTS, /* .dynsym alone; an old table that does not say is of this grade, too */
    SYMTAB_GRADE_FUNCTIONS, /* every function has its name */
    SYMTAB_GRADE_PLACES_CUT, /* and a part of the code its places */
    SYMTAB_GRADE_PLACES, /* and all that the debug information has */
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
    uint32_t sources; /* SYMTAB_FROM_... */
    bool is_cut; /* a limit was reached: symbols or places are missing */
    struct places places; /* left empty by symtab_decode */
};

/* Copies `name`, cut to SYMTAB_NAME_MAX and repaired to UTF-8. ST_INVALID: empty name; ST_FULL. */
enum status symtab_add(struct symtab *t, uint64_t start, uint64_t size, const char *name);
/* Sorts, and of several names for one address keeps one: sized before unsized, then the one with
 * fewest leading underscores, then the first by strcmp. Call once after the last add. */
void symtab_sort(struct symtab *t);
/* The innermost symbol that covers `offset`, the last unsized one without end; NULL: none does.
 * Needs a sorted table; valid until t changes. */
const char *symtab_find(const struct symtab *t, uint64_t offset);
enum symtab_grade symtab_grade(const struct symtab *t);
void symtab_deinit(struct symtab *t);

/* zstd over msgpack, the places as a zstd frame inside, so that who wants only names need not
 * unpack them. Places over their limit are left out, which marks the written table as cut.
 * ST_BAD_STATE: not sorted; ST_TOO_BIG. */
enum status symtab_encode(const struct symtab *t, struct blob *out);
enum status symtab_decode(struct slice bytes, struct symtab *out); /* refuses unsorted tables */
enum status symtab_decode_all(struct slice bytes, struct symtab *out); /* with the places */

#endif
