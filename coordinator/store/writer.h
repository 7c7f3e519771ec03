/* writer - the one thread that writes: takes what waits, runs it in order in one batch, commits,
 * and hands it back as done. While a commit waits for the disk, the next batch gathers.
 * A batch that fails for a full map is run again once the map has grown. Whatever else fails is
 * told to the writes as "not durable, later again": ST_NO_SPACE, ST_NOMEM or ST_IO. */
#ifndef COORDINATOR_STORE_WRITER_H
#define COORDINATOR_STORE_WRITER_H

#include "coordinator/store/buckets.h"
#include "coordinator/store/store.h"
#include "coordinator/store/txn.h"

struct writer; /* opaque */

struct writer_counters {
    uint64_t writes, commits, failed_commits, chunks, duplicate_chunks, commit_ns, bytes;
    bool disk_full;
};

enum status writer_start(struct catalog *catalog, struct buckets *buckets, void (*wake)(void *arg),
                         void *arg, struct writer **out);
/* Finishes what was submitted, ends the thread; writer_complete then has the last ones. What is
 * submitted after that is answered with ST_CLOSED by writer_complete. */
void writer_stop(struct writer *w);
void writer_free(struct writer *w); /* NULL is fine; stops first */

void writer_submit(struct writer *w, struct store_write *write);
void writer_complete(struct writer *w); /* calls `done`; may be called by `done`'s callees again */
size_t writer_waiting_bytes(struct writer *w);
struct writer_counters writer_read_counters(struct writer *w);

#endif
