/* ingest - chunks and symbols on their way into the store.
 * Takes a value (bytes of a packed chunk and who sent it), verifies it, translates its dictionary
 * into the store's ids on the writer thread, and reports once it is durable. Knows no sockets.
 * Loop thread; times are passed in. A dictionary at its limit costs stacks their names, never
 * samples: what does not fit becomes the mark INGEST_FULL_MARK and is counted. */
#ifndef COORDINATOR_INGEST_INGEST_H
#define COORDINATOR_INGEST_INGEST_H

#include <stdint.h>

#include "common/chunk.h"
#include "common/message.h"
#include "common/status.h"
#include "common/workers.h"
#include "coordinator/store/store.h"
#include "coordinator/store/symbol_record.h"

#define INGEST_FULL_MARK "[dictionary full]"

enum {
    INGEST_TEXT_MAX = 256,
    INGEST_UPLOADS_MAX = 32, /* symbol uploads in progress at once ... */
    INGEST_UPLOAD_BYTES_MAX = 256 << 20, /* ... and their bytes together: two of the largest */
    INGEST_UPLOAD_STALE_PARTS = 256, /* an upload that slept through this many parts of others
                                        makes room when room is wanted */
};
/* How far a window may lie outside [profiler assigned, now]: clock offsets are estimates. */
#define INGEST_CLOCK_SLACK_NS (3600 * NS_PER_S)
/* A profiler cuts a few chunks a second at most, so its sequence cannot be above one for each of
 * these since its assignment, and a spare number that covers its first moments. */
#define INGEST_CHUNK_NS_MIN (100 * NS_PER_MS)
#define INGEST_SEQUENCE_SPARE 1000

struct ingest; /* opaque */

struct ingest_result {
    enum status status; /* ST_OK: durable. ST_EXISTS: a duplicate, durable before.
                           Any other without a refusal (ST_IO, ST_NO_SPACE, ST_NOMEM): not
                           taken, send it again later. */
    enum refusal_reason refusal; /* 0, or why it will never be taken */
    char text[INGEST_TEXT_MAX]; /* with a refusal: names the value and the rule */
    struct chunk_info info; /* valid with ST_OK and ST_EXISTS */
    const struct build_id *new_binaries; /* build ids without symbols in the store: ask for them */
    uint32_t new_binary_count;
};

typedef void ingest_done(void *arg, const struct ingest_result *result);

/* Symbol tables are checked by `workers`, which are copied. NULL: on the loop; for tests. */
enum status ingest_new(struct store *store, const struct workers *workers, struct ingest **out);
void ingest_free(struct ingest *i); /* NULL is fine; no `done` may be outstanding */

/* Copies `bytes`. `host` must own the chunk's profiler (records.h). `done` follows on the loop, in
 * the order of the calls. ST_NOMEM, ST_TOO_BIG (over CHUNK_PACKED_MAX): not taken, no `done`. */
enum status ingest_chunk(struct ingest *i, const char *host, struct slice bytes, struct wall now,
                         ingest_done *done, void *arg);

struct symbols_source { /* who sends a table, and how */
    enum symbol_origin origin;
    const char *from; /* host, operator, or URL */
    const char *name; /* of the file; "": not told */
    bool force; /* take the place of a better table too */
    struct wall now;
};

struct symbols_result {
    struct build_id id;
    enum status status; /* ST_OK: stored; ST_EXISTS: a table as good or better is; ST_INVALID,
                           ST_UNSUPPORTED: not a symbol table; ST_IO, ST_NO_SPACE, ST_NOMEM: not
                           durable, later again */
    struct symbol_record record; /* of the table that came; of the stored one with ST_EXISTS */
};

typedef void symbols_done(void *arg, const struct symbols_result *result);

/* One part of a packed symtab. The last one is checked, stored and reported by `done`; no other
 * part is. Part 0 begins the upload anew, whoever of that origin had begun it; a message of 0 parts
 * (the host has none) drops it.
 * From an agent: ST_NOT_FOUND: no stored chunk holds this build id; ST_EXISTS: its symbols are
 * stored. From anybody: ST_INVALID: parts out of order; ST_TOO_BIG: over SYMTAB_PACKED_MAX;
 * ST_FULL: too many uploads at once, ask again later; ST_NOMEM. After any of these the upload is
 * gone and `done` does not follow. */
enum status ingest_symbols(struct ingest *i, const struct symbols_source *source,
                           const struct symbols_part *part, symbols_done *done, void *arg);

/* Build ids of stored samples that still lack symbols, for asking again after a reconnect: at most
 * `max`, fewer where many have theirs, from *cursor on (0 begins), which moves and is 0 again when
 * the end was reached. */
uint32_t ingest_missing_symbols(const struct ingest *i, uint32_t *cursor, struct build_id *out,
                                uint32_t max);
/* The same of those without a table, and those whose table has only what the binary exports. */
uint32_t ingest_poor_symbols(const struct ingest *i, uint32_t *cursor, struct build_id *out,
                             uint32_t max);

struct ingest_counters {
    uint64_t chunks, duplicates, samples, bytes, refused[REFUSAL_REASONS];
    uint64_t folded_samples; /* their stacks did not fit into the full dictionary */
    uint64_t symbol_tables, symbol_refused;
};
struct ingest_counters ingest_read_counters(const struct ingest *i);

#endif
