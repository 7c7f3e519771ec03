/* intern - a decoded chunk translated from its own dictionary's indexes to the store's ids.
 * Writer thread. */
#ifndef COORDINATOR_INGEST_INTERN_H
#define COORDINATOR_INGEST_INTERN_H

#include <stdint.h>

#include "common/chunk.h"
#include "coordinator/store/store.h"

/* Rewrites the samples of `c`, which chunk_decode has checked, in place: ready for CHUNK_STORED.
 * What a full dictionary has no room for becomes INGEST_FULL_MARK; `folded` gets the number of
 * samples that lost a frame to it, and a binary without room loses its build id in `c`.
 * ST_NOMEM or the store's failure: the samples of `c` may hold anything. */
enum status intern_chunk(struct store_txn *t, struct chunk *c, uint32_t *folded);

#endif
