/* ingest - chunks and symbols on their way into the store.
 * Takes a value (bytes of a packed chunk and who sent it), verifies it, translates its dictionary
 * into the store's ids on the writer thread, and reports once it is durable. Knows no sockets. */
#ifndef COORDINATOR_INGEST_INGEST_H
#define COORDINATOR_INGEST_INGEST_H

#include <stdint.h>

#include "common/chunk.h"
#include "common/message.h"
#include "common/status.h"
#include "coordinator/store/store.h"

enum { INGEST_TEXT_MAX = 256 };

struct ingest; /* opaque */

struct ingest_result {
    enum status status; /* ST_OK: durable. ST_EXISTS: a duplicate, durable before.
                           ST_IO, ST_NO_SPACE: not taken, send it again later. */
    enum refusal_reason refusal; /* 0, or why it will never be taken */
    char text[INGEST_TEXT_MAX]; /* with a refusal: names the value and the rule */
    struct chunk_info info; /* valid with ST_OK and ST_EXISTS */
    const struct build_id *new_binaries; /* build ids without symbols in the store: ask for them */
    uint32_t new_binary_count;
};

typedef void ingest_done(void *arg, const struct ingest_result *result);

enum status ingest_new(struct store *store, struct ingest **out);
void ingest_free(struct ingest *i);

/* Copies `bytes`. `host` must own the chunk's profiler (records.h). `done` follows on the loop. */
enum status ingest_chunk(struct ingest *i, const char *host, struct slice bytes, ingest_done *done,
                         void *arg);

/* Parts of one packed symtab; the last one is checked, stored and reported. At most one upload at a
 * time for each build id; ST_FULL: too many uploads at once; ST_INVALID: parts out of order. */
enum status ingest_symbols(struct ingest *i, const char *host, const struct symbols_part *part,
                           void (*done)(void *arg, const struct build_id *id, enum status st),
                           void *arg);

struct ingest_counters {
    uint64_t chunks, duplicates, samples, bytes, refused[REFUSAL_REASONS];
    uint64_t symbol_tables, symbol_refused;
};
struct ingest_counters ingest_read_counters(const struct ingest *i);

#endif
