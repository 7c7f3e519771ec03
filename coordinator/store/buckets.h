/* buckets - the day files: chunks-YYYY-MM-DD.mdb, each one LMDB environment that is opened when it
 * is first wanted. Any thread; a bucket stays open while someone holds it, and a while longer. */
#ifndef COORDINATOR_STORE_BUCKETS_H
#define COORDINATOR_STORE_BUCKETS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "coordinator/store/lmdb.h"

enum {
    BUCKETS_OPEN_MAX = 64 /* idle ones close beyond this; each is a descriptor and a mapping */
};
#define BUCKET_NS (86400 * NS_PER_S)

struct buckets; /* opaque */

struct bucket {
    uint32_t day; /* since 1970-01-01 */
    struct lmdb *env;
    lmdb_table chunks; /* row key -> chunk in stored form */
    lmdb_table rows; /* row key -> ledger row */
    lmdb_table sequences; /* profiler, sequence -> start: finds a duplicate and a profiler's rows */
    bool opening; /* nothing else of it is there yet */
    unsigned holders;
    uint64_t last_use; /* a count, not a time */
};

static inline uint32_t bucket_day(struct wall t)
{
    return (uint32_t)(t.ns / BUCKET_NS);
}

enum status buckets_open(const char *directory, uint64_t map_bytes, struct buckets **out);
void buckets_close(struct buckets *b); /* NULL is fine; nothing may be held */

/* ST_NOT_FOUND: there is no such file and `create` is false. Give it back by bucket_release. */
enum status bucket_hold(struct buckets *b, uint32_t day, bool create, struct bucket **out);
void bucket_release(struct buckets *b, struct bucket *k);

/* The first day at or after `from` that has a file; false: none up to `to`. */
bool buckets_next(struct buckets *b, uint32_t from, uint32_t to, uint32_t *out);
/* The days that have a file; false: none. */
bool buckets_range(struct buckets *b, uint32_t *first, uint32_t *last);
uint64_t buckets_bytes(struct buckets *b); /* on disk */
void buckets_drop_dead_readers(struct buckets *b);

#endif
