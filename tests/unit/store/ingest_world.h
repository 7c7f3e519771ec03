/* ingest_world - ingest over a real store in a directory of its own, with one profiler that may
 * send. */
#ifndef TESTS_UNIT_STORE_INGEST_WORLD_H
#define TESTS_UNIT_STORE_INGEST_WORLD_H

#include <semaphore.h>

#include "coordinator/ingest/ingest.h"
#include "coordinator/store/records.h"
#include "tests/support/rng.h"

#define WORLD_HOST "web-1"
#define WORLD_INCARNATION UINT64_C(7)
#define WORLD_ASSIGNED (UINT64_C(1796040000) * NS_PER_S) /* 2026-11-30T12:00:00Z */
#define WORLD_NOW (WORLD_ASSIGNED + 600 * NS_PER_S)

enum { WORLD_BINARIES_MAX = 64 };

struct outcome { /* what a chunk's `done` was told */
    struct ingest_result result; /* its new_binaries are copied below */
    struct build_id new_binaries[WORLD_BINARIES_MAX];
};

struct ingest_world {
    char directory[64];
    struct store *store;
    struct ingest *ingest;
    sem_t woken;
    struct rng rng;
    struct id128 profiler;
};

int world_set_up(void **state);
int world_tear_down(void **state);
void world_reopen(struct ingest_world *w); /* what is stored stays */
/* ... with files of `map_bytes` at first and a dictionary that ends at `limits`. */
void world_reopen_with(struct ingest_world *w, uint64_t map_bytes, struct dictionary_limits limits);
void world_wait(struct ingest_world *w); /* until the writer has reported something */
void world_put(struct ingest_world *w, enum store_table table, struct slice key,
               struct slice value);

/* Random and valid, of the world's profiler, 10 s long and ended by now; the caller deinits. */
struct chunk world_chunk(struct ingest_world *w, uint64_t sequence);
struct outcome world_offer(struct ingest_world *w, const char *host, const struct chunk *c);
struct outcome world_offer_bytes(struct ingest_world *w, const char *host, struct slice bytes);

#endif
