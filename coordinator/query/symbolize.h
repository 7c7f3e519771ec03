/* symbolize - names for frames, from the symbol tables in the store.
 * Names are looked up when a question is asked, so symbols that arrive later name old samples too.
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
    uint32_t binary_id; /* of the first frame seen; CHUNK_NO_PARENT: none */
    enum frame_kind kind;
    bool named; /* false: an address that no symbol covers */
};

struct symbolizer; /* opaque */

enum status symbolizer_new(struct symbol_cache *c, struct store_view *v, struct symbolizer **out);
void symbolizer_free(struct symbolizer *s); /* NULL is fine */
/* Dense function index of a frame id. ST_NOMEM. */
enum status symbolizer_function(struct symbolizer *s, uint32_t frame, uint32_t *out);
const struct function *symbolizer_get(const struct symbolizer *s,
                                      uint32_t function); /* while s lives */
uint32_t symbolizer_count(const struct symbolizer *s);

#endif
