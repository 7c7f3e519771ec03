/* symbolize - names for frames, from the symbol tables in the store.
 * Names are looked up when a question is asked, so symbols that arrive later name old samples too.
 * An address without a name shows as binary+0xoffset and never vanishes. One per query thread use;
 * the cache of decoded tables behind it is shared, bounded by bytes and locked. */
#ifndef COORDINATOR_QUERY_SYMBOLIZE_H
#define COORDINATOR_QUERY_SYMBOLIZE_H

#include <stdint.h>

#include "common/status.h"
#include "coordinator/store/store.h"

enum { SYMBOL_CACHE_BYTES = 512 << 20 };

struct symbol_cache; /* opaque: shared by all queries */
enum status symbol_cache_new(size_t bytes_max, struct symbol_cache **out);
void symbol_cache_free(struct symbol_cache *c);

struct function { /* what a ranking has a row for; equal code has one function on every host */
    const char *name; /* demangled; "binary+0xoffset"; "[truncated]" */
    const char *binary; /* file name without directories; "[kernel]"; "" for marks */
    uint32_t binary_id; /* CHUNK_NO_PARENT: none */
    enum frame_kind kind;
};

struct symbolizer; /* opaque: one question */
enum status symbolizer_new(struct symbol_cache *c, struct store_view *v, struct symbolizer **out);
void symbolizer_free(struct symbolizer *s);
/* Dense function index of a frame id. ST_NOMEM. */
enum status symbolizer_function(struct symbolizer *s, uint32_t frame, uint32_t *out);
const struct function *symbolizer_get(const struct symbolizer *s,
                                      uint32_t function); /* while s lives */
uint32_t symbolizer_count(const struct symbolizer *s);

#endif
