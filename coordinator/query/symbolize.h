/* symbolize - names for frames, from the symbol tables in the store.
 * Names are looked up when a question is asked, so symbols that arrive later name old samples too.
 * Where the compiler inlined functions, a frame is a chain of them: what runs is the innermost.
 * An address without a name shows as binary+0xoffset and never vanishes. A symbolizer belongs to
 * one question and one thread; the cache of decoded tables behind it is shared. */
#ifndef COORDINATOR_QUERY_SYMBOLIZE_H
#define COORDINATOR_QUERY_SYMBOLIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "coordinator/query/symbol_cache.h"
#include "coordinator/store/store.h"

/* What a ranking has a row for. Code of one name in binaries of one file name is one function, on
 * whatever host and of whatever build; an address without a name is one only within its build. */
struct function {
    const char *name; /* demangled; "binary+0xoffset"; "[truncated]" */
    const char *binary; /* file name without directories; "[kernel]"; "" for NAMED and MARK */
    const char *file; /* of its source, as first seen; "": not known */
    uint32_t binary_id; /* of the first frame seen; CHUNK_NO_PARENT: none */
    enum frame_kind kind;
    bool named; /* false: an address that no symbol covers */
};

/* A frame's inlined functions, and the one that they were inlined into: with CHUNK_DEPTH_MAX, what
 * bounds the depth of an expanded stack. Of longer chains the outermost inlined ones are left out.
 */
enum { SYMBOLIZE_CHAIN_MAX = 32 };

struct frame_function {
    uint32_t function; /* index for symbolizer_get */
    uint32_t line; /* in its source that runs, or that calls the next inner one; 0: not known */
};

struct symbolizer; /* opaque */

enum status symbolizer_new(struct symbol_cache *c, struct store_view *v, struct symbolizer **out);
void symbolizer_free(struct symbolizer *s); /* NULL is fine */
/* The functions of a frame id, innermost first, at least one; lent until the next call. ST_NOMEM.
 */
enum status symbolizer_frame(struct symbolizer *s, uint32_t frame,
                             const struct frame_function **out, uint32_t *count);
const struct function *symbolizer_get(const struct symbolizer *s,
                                      uint32_t function); /* while s lives */
uint32_t symbolizer_count(const struct symbolizer *s);

#endif
