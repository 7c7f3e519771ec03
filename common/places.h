/* places - where in the source text a binary's code comes from: for each offset its file and line,
 * and the functions that the compiler inlined there. Read from DWARF, carried by a symtab.
 * Texts, calls and spans refer to each other by id: 1 is the first, 0 none. Values; any thread. */
#ifndef COMMON_PLACES_H
#define COMMON_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "common/compress.h"
#include "common/status.h"

enum {
    PLACES_SPANS_MAX = 4 << 20, /* 24 bytes each: 96 MiB; libc has 0.3 million */
    PLACES_CALLS_MAX = 2 << 20, /* 16 bytes each */
    PLACES_TEXTS_MAX = 1 << 20,
    PLACES_TEXT_MAX = 4096, /* bytes; longer ones are cut */
    PLACES_DEPTH_MAX = 64, /* entries of one answer: inlined functions inside each other, and one */
    PLACES_PLAIN_MAX = 256 << 20,
    PLACES_PACKED_MAX = 64 << 20,
};

struct place_span { /* reaches to the start of the next one */
    uint64_t start; /* file offset, as a symbol's */
    uint32_t call; /* the innermost inlined call that the code belongs to */
    uint32_t file, line;
};

struct place_call { /* a function inlined into another */
    uint32_t parent; /* the call that this one is inside of; smaller than its own id */
    uint32_t function; /* text: the name as the linker would know it, else as in the source */
    uint32_t file, line; /* where it is called */
};

struct places { /* zero-initialised is empty */
    struct place_span *spans; /* by start */
    struct place_call *calls;
    uint32_t *texts; /* offsets in `text` */
    char *text; /* NUL-terminated, back to back */
    uint32_t span_count, span_capacity, call_count, call_capacity, text_count, text_capacity;
    size_t text_bytes, text_bytes_capacity;
};

/* One line of an answer; texts are lent from the places. */
struct place {
    const char *function; /* NULL: the function that was not inlined, which symtab_find names */
    const char *file; /* NULL: not known */
    uint32_t line; /* 0: not known */
};

/* Each gives the new id. ST_INVALID: an empty text, or an id that is not there; ST_FULL; ST_NOMEM.
 * Texts are cut to PLACES_TEXT_MAX and repaired to UTF-8; equal ones are not looked for. */
enum status places_add_text(struct places *p, const char *text, uint32_t *out);
enum status places_add_call(struct places *p, struct place_call call, uint32_t *out);
/* In order of start. One with the last one's start replaces it; one that says the same as the last
 * one makes that longer. ST_BAD_STATE: out of order. */
enum status places_add_span(struct places *p, struct place_span span);

/* What runs at `offset`, innermost first and the function that was not inlined last; the outermost
 * inlined ones are left out where `max` (at least 1) is too small. Returns how many; 0: nothing is
 * known. */
uint32_t places_find(const struct places *p, uint64_t offset, struct place out[], uint32_t max);
void places_deinit(struct places *p);

/* zstd over msgpack; see schemas/README.md. ST_TOO_BIG. */
enum status places_encode(const struct places *p, struct blob *out);
enum status places_decode(struct slice bytes, struct places *out);

#endif
