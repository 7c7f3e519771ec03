/* view - a snapshot of the store: the catalog's snapshot and the number of the last batch that
 * belongs to it. Day files are held while they are walked and rows of later batches passed over, so
 * a question about a year keeps one day's file open at a time. store.h is the manual; view.c walks
 * records and time, view_profiler.c the sequences of one profiler. */
#ifndef COORDINATOR_STORE_VIEW_H
#define COORDINATOR_STORE_VIEW_H

#include "coordinator/store/state.h"

struct store_view {
    struct store *store;
    struct lmdb_txn *catalog;
    uint64_t batch;
};

struct view_day {
    struct bucket *bucket;
    struct lmdb_txn *txn;
};

/* ST_NOT_FOUND: that day has no file. */
enum status view_hold_day(struct store_view *v, uint32_t day, struct view_day *out);
void view_release_day(struct store_view *v, struct view_day *d);

#endif
