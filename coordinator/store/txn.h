/* txn - one batch of writes: a catalog transaction and one in each day file that a chunk goes to.
 * Writer thread only. The commit goes catalog first, so that no chunk ever refers to dictionary
 * entries that are not there; entries without a chunk are the worst that a crash leaves. */
#ifndef COORDINATOR_STORE_TXN_H
#define COORDINATOR_STORE_TXN_H

#include "coordinator/store/buckets.h"
#include "coordinator/store/dictionary_edit.h"
#include "coordinator/store/store.h"

enum {
    TXN_BUCKETS_MAX = BUCKETS_OPEN_MAX, /* a chunk of yet another day is told ST_BAD_STATE, alone */
    TXN_NO_BUCKET = -1,
};

struct catalog {
    struct lmdb *env;
    lmdb_table tables[STORE_TABLES + DICTIONARY_KINDS]; /* the dictionary's come last */
    struct dictionary *dictionary;
};

struct store_txn {
    struct catalog *catalog;
    struct buckets *buckets;
    struct lmdb_txn *main; /* in the catalog */
    struct {
        struct bucket *bucket;
        struct lmdb_txn *txn;
        enum status committed;
    } days[TXN_BUCKETS_MAX];
    int day_count;
    int touched; /* index in days of the chunk that the running write put, or TXN_NO_BUCKET */
    bool grown; /* after its end: it failed for a full map, which has grown; so try again */
};

enum status txn_begin(struct catalog *catalog, struct buckets *buckets, struct store_txn *out);
/* ST_OK, or the failure that dooms the whole batch: txn_commit will then abort it. */
enum status txn_status(const struct store_txn *t);
/* Ends it. The catalog's result; each day's is in days[].committed. */
enum status txn_commit(struct store_txn *t);

#endif
