/* state - what a store is made of; for store.c and view.c. */
#ifndef COORDINATOR_STORE_STATE_H
#define COORDINATOR_STORE_STATE_H

#include "coordinator/store/buckets.h"
#include "coordinator/store/store.h"
#include "coordinator/store/txn.h"
#include "coordinator/store/writer.h"

struct store {
    struct catalog catalog;
    struct buckets *buckets;
    struct writer *writer;
    char *catalog_path;
    int lock_fd; /* held while the store is open: one process at a time */
};

#endif
