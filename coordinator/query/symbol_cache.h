/* symbol_cache - decoded symbol tables by build id, shared by all queries. Bounded by bytes: the
 * least recently used tables that no question holds go first. Locked; any thread. */
#ifndef COORDINATOR_QUERY_SYMBOL_CACHE_H
#define COORDINATOR_QUERY_SYMBOL_CACHE_H

#include <stddef.h>

#include "common/id.h"
#include "common/status.h"
#include "common/symtab.h"
#include "coordinator/store/store.h"

enum { SYMBOL_CACHE_BYTES = 512 << 20 };

struct symbol_cache; /* opaque */
struct symbol_cache_entry; /* opaque: a table that is held */

/* `bytes_max` bounds what stays when nobody holds it. */
enum status symbol_cache_new(size_t bytes_max, struct symbol_cache **out);
void symbol_cache_free(struct symbol_cache *c); /* NULL is fine; nothing may be held */

/* Holds the table of a build id as the view's store has it, decoding it unless an equal one is
 * here. ST_NOT_FOUND: the store has none, which is not remembered: it may come. ST_INVALID:
 * damaged.
 */
enum status symbol_cache_hold(struct symbol_cache *c, struct store_view *v,
                              const struct build_id *id, struct symbol_cache_entry **out);
void symbol_cache_release(struct symbol_cache *c, struct symbol_cache_entry *e); /* NULL is fine */
const struct symtab *symbol_cache_table(const struct symbol_cache_entry *e); /* while held */

struct symbol_cache_counters {
    size_t bytes;
    uint32_t tables;
    uint64_t hits, loads, evictions;
};
struct symbol_cache_counters symbol_cache_read_counters(struct symbol_cache *c);

#endif
