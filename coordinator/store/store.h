/* store - the coordinator's memory on disk: control records, dictionaries, chunks. LMDB by default.
 *
 * Files in the store's directory:
 *   catalog.mdb        control records, symbols and the dictionaries
 *   chunks-DAY.mdb     chunks and their ledger rows, one file per UTC day of the window's start
 * One writer thread owns every write. The loop submits writes; the writer takes all that wait, runs
 * them in order in one transaction, commits (catalog first, then chunks: a crash between leaves
 * unused dictionary entries, never a dangling reference) and only then are they done. Reads are
 * snapshots and may be taken on any thread. Other back ends (ClickHouse, etcd) are to fit behind
 * this header.
 *
 * A chunk is stored once. (profiler, sequence) is a key of its day's file; and since a start that
 * changed between two sendings may lead to another day, the catalog keeps which days hold any of a
 * profiler's sequences, in blocks of 1024, and each of those files is asked first. */
#ifndef COORDINATOR_STORE_STORE_H
#define COORDINATOR_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/chunk.h"
#include "common/status.h"
#include "common/wire.h"
#include "coordinator/store/dictionary.h"

enum {
    STORE_WHY_MAX = 256,
    STORE_KEY_MAX = 256, /* bytes; LMDB's own limit is 511 */
    STORE_BATCH_WRITES = 512, /* a commit takes at most this many writes ... */
    STORE_BATCH_BYTES = 16 << 20, /* ... or this much */
    STORE_VERSION = 1, /* of the layout; another one is refused by name */
};

struct store; /* opaque */

struct store_options {
    const char *directory;
    uint64_t map_bytes; /* address space per file, not disk; doubles when full.
                           0: 64 GiB (valgrind wants <= 32) */
    struct dictionary_limits limits; /* zero but in tests: the maxima */
    void (*wake)(void *arg); /* on the writer thread: call store_complete on the loop soon */
    void *arg;
};

/* ST_UNSUPPORTED: another layout version; ST_BAD_STATE: another process has it open;
 * ST_NO_SPACE, ST_DENIED, ST_IO. `why` names the file. */
enum status store_open(const struct store_options *options, struct store **out,
                       char why[STORE_WHY_MAX]);
/* Commits what was submitted, calls every `done`, joins the writer, closes. Loop thread; every view
 * must be closed, and `wake` may be called until this returns. */
void store_close(struct store *s);

/* ---- records: small values under a key, for control state ---- */

#define STORE_TABLE_LIST(X)   \
    X(META, "meta")           \
    X(SESSIONS, "sessions")   \
    X(PROFILERS, "profilers") \
    X(AGENTS, "agents")       \
    X(SYMBOLS, "symbols")     \
    X(SYMBOL_RECORDS, "symbol_records")

enum store_table {
#define X(NAME, name) STORE_##NAME,
    STORE_TABLE_LIST(X)
#undef X
        STORE_TABLES
};

/* ---- writing ---- */

struct store_txn; /* lent to a write while it runs on the writer thread */

enum status store_txn_put(struct store_txn *t, enum store_table table, struct slice key,
                          struct slice value);
enum status store_txn_get(struct store_txn *t, enum store_table table, struct slice key,
                          struct slice *out); /* lent until the next put */
enum status store_txn_delete(struct store_txn *t, enum store_table table, struct slice key);

/* Dense ids, the same for the same content for ever. ST_FULL: the dictionary is at its limit;
 * ST_INVALID: refers to an id that was not given. */
enum status store_txn_string(struct store_txn *t, const char *text, uint32_t *out);
enum status store_txn_binary(struct store_txn *t, const struct build_id *id, uint32_t path,
                             uint32_t *out);
enum status store_txn_frame(struct store_txn *t, const struct chunk_frame *frame, uint32_t *out);
enum status store_txn_node(struct store_txn *t, struct chunk_node node, uint32_t *out);

/* A chunk in stored form (its ids are the dictionary's). ST_EXISTS: (profiler, sequence) is stored
 * already; nothing changed. */
enum status store_txn_chunk(struct store_txn *t, const struct chunk_info *info,
                            struct slice stored);

struct store_write { /* the submitter's; alive until `done` */
    /* Writer thread. Runs again if the batch did not become durable, so it must not consume what it
     * needs. A status other than ST_OK concerns this write alone and is passed to `done`; what it
     * had put before stays. */
    enum status (*apply)(struct store_write *w, struct store_txn *t);
    /* Loop thread, in order, after the commit. ST_NO_SPACE, ST_NOMEM, ST_IO: not durable, later
     * again; the store recovers by itself when there is room. ST_CLOSED: the store is closing. */
    void (*done)(struct store_write *w, enum status st);
    size_t bytes; /* about what it will write: for the batch and the back-pressure */
    struct store_write *next; /* the store's, with `settled` */
    enum status settled;
};

void store_submit(struct store *s, struct store_write *w); /* loop thread */
void store_complete(struct store *s); /* loop thread, after `wake`: calls `done` */
size_t store_waiting_bytes(const struct store *s); /* submitted, not yet done */

/* ---- reading: a snapshot, used by one thread at a time ---- */

struct store_view; /* opaque */

/* Everything that was done when this was called, and nothing that is submitted later. Every id in
 * a chunk of the view resolves: batches commit to the catalog first, the view notes the number of
 * the last whole batch before it takes the catalog's snapshot, and passes over chunks of later
 * batches; so day files may be opened late and closed early. ST_FULL: too many views. */
enum status store_view_open(struct store *s, struct store_view **out);
void store_view_close(struct store_view *v); /* NULL is fine */

enum status store_view_get(struct store_view *v, enum store_table table, struct slice key,
                           struct slice *out); /* lent until the view closes */
/* In key order; a status other than ST_OK from `visit` ends the walk and is returned. */
enum status store_view_each(struct store_view *v, enum store_table table,
                            enum status (*visit)(void *arg, struct slice key, struct slice value),
                            void *arg);

/* One row per stored chunk, without its samples. */
struct ledger_row {
    struct id128 profiler;
    uint64_t sequence;
    struct wall start, end; /* coordinator's clock */
    uint64_t period_ns;
    uint32_t cpus;
    bool final;
    struct ledger ledger;
    struct agent_cost cost;
    struct walks walks;
};

/* Every chunk whose window overlaps [from, to), by start time. `stored` is lent for the call. */
enum status store_view_chunks(struct store_view *v, struct wall from, struct wall to,
                              enum status (*visit)(void *arg, const struct ledger_row *row,
                                                   struct slice stored),
                              void *arg);
enum status store_view_ledger(struct store_view *v, struct wall from, struct wall to,
                              enum status (*visit)(void *arg, const struct ledger_row *row),
                              void *arg);
/* Of one profiler over all time, by sequence. */
enum status store_view_profiler(struct store_view *v, struct id128 profiler,
                                enum status (*visit)(void *arg, const struct ledger_row *row),
                                void *arg);

/* Content of the ids that the view's chunks hold. The dictionary only grows: any thread may read
 * it. */
const struct dictionary *store_view_dictionary(const struct store_view *v);

struct store_counters {
    uint64_t writes, commits, failed_commits, chunks, duplicate_chunks, commit_ns, bytes;
    uint64_t catalog_bytes, chunk_file_bytes; /* on disk */
    uint32_t strings, binaries, frames, nodes;
    bool disk_full;
};
struct store_counters store_read_counters(struct store *s);

#endif
