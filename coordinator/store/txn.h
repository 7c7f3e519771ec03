/* txn - one batch of writes: a catalog transaction and one in each day file that a chunk goes to.
 * Writer thread only. The commit goes catalog first, so that no chunk ever refers to dictionary
 * entries that are not there; entries without a chunk are the worst that a crash leaves. */
#ifndef COORDINATOR_STORE_TXN_H
#define COORDINATOR_STORE_TXN_H

#include <stdatomic.h>

#include "coordinator/store/buckets.h"
#include "coordinator/store/dictionary_edit.h"
#include "coordinator/store/store.h"

enum {
    TXN_BUCKETS_MAX = BUCKETS_OPEN_MAX, /* a chunk of yet another day is told ST_BAD_STATE, alone */
    TXN_NO_BUCKET = -1,
};

/* The catalog's tables: enum store_table, the dictionary's, and which days hold what. */
enum {
    CATALOG_DICTIONARY = STORE_TABLES,
    CATALOG_DAYS = CATALOG_DICTIONARY + DICTIONARY_KINDS,
    CATALOG_TABLES,
};

enum { BATCH_NUMBERS = 1 << 20 }; /* reserved at a time */
#define BATCH_KEY "batch numbers" /* in STORE_META: reserved up to this one, 8 bytes */

struct catalog {
    struct lmdb *env;
    lmdb_table tables[CATALOG_TABLES];
    struct dictionary *dictionary;
    /* Batches are numbered, across restarts too, and a row has the number of the batch that brought
     * it. `batch` is the last one that has been committed in every file; a view notes it before it
     * takes its snapshots, and passes over rows of later ones. */
    _Atomic uint64_t batch;
    uint64_t batch_reserved; /* the writer's */
};

struct store_txn {
    struct catalog *catalog;
    struct buckets *buckets;
    struct lmdb_txn *main; /* in the catalog */
    uint64_t number; /* of this batch */
    uint64_t reserved; /* numbers, once this batch is committed */
    struct {
        struct bucket *bucket;
        struct lmdb_txn *txn;
        enum status committed;
    } days[TXN_BUCKETS_MAX];
    int day_count;
    int touched; /* index in days of the chunk that the running write put or met, or TXN_NO_BUCKET
                  */
    bool grown; /* after its end: it failed for a full map, which has grown; so try again */
};

enum status txn_begin(struct catalog *catalog, struct buckets *buckets, struct store_txn *out);
/* ST_OK, or the failure that dooms the whole batch: txn_commit will then abort it. */
enum status txn_status(const struct store_txn *t);
/* Ends it. The catalog's result; each day's is in days[].committed. */
enum status txn_commit(struct store_txn *t);

#endif
