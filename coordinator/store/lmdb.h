/* lmdb - LMDB in our words: environments, tables, transactions; its codes as our status.
 * Full sync, no write map (a full disk would be a SIGBUS), one file an environment. Values read are
 * lent until their transaction ends. One write transaction a process and environment at a time.
 * A transaction is sticky: after the first failure that spoils it every call returns that failure
 * and changes nothing, and the commit refuses. ST_NOT_FOUND, ST_EXISTS and a value or key of a bad
 * size (ST_TOO_BIG) are answers, not failures. */
#ifndef COORDINATOR_STORE_LMDB_H
#define COORDINATOR_STORE_LMDB_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

enum {
    LMDB_TABLES_MAX = 16,
    LMDB_READERS_MAX = 1024,
    LMDB_GROW_WAIT_MS = 500, /* how long growing waits for open snapshots to end */
};

struct lmdb; /* opaque: an environment, that is a file */
struct lmdb_txn; /* opaque */
typedef unsigned lmdb_table;

enum lmdb_put_mode {
    LMDB_REPLACE,
    LMDB_NEW, /* ST_EXISTS when the key is there */
    LMDB_APPEND, /* key above every other; ST_EXISTS when not */
};

/* Opens or makes `path`, durably, with the named tables; `tables` gets their handles in that order.
 */
enum status lmdb_open(const char *path, uint64_t map_bytes, const char *const *names,
                      unsigned name_count, lmdb_table *tables, struct lmdb **out);
void lmdb_close(struct lmdb *env); /* NULL is fine; no transaction may be open */

/* Doubles the map if it was what a write transaction that has ended failed for; the writer's thread
 * alone. ST_NOT_FOUND: it was not. ST_BAD_STATE: a snapshot stayed open for LMDB_GROW_WAIT_MS, and
 * the map cannot move under it; ST_NO_SPACE: no address space. */
enum status lmdb_grow(struct lmdb *env);

enum status lmdb_begin_write(struct lmdb *env, struct lmdb_txn **out);
enum status lmdb_begin_read(struct lmdb *env, struct lmdb_txn **out);
/* Ends the transaction either way. ST_NO_SPACE: the disk is full; ST_FULL: the map is; nothing was
 * written. */
enum status lmdb_commit(struct lmdb_txn *t);
void lmdb_abort(struct lmdb_txn *t); /* NULL is fine */
enum status lmdb_txn_status(const struct lmdb_txn *t); /* what spoilt it; ST_OK */

enum status lmdb_get(struct lmdb_txn *t, lmdb_table table, struct slice key, struct slice *out);
enum status lmdb_put(struct lmdb_txn *t, lmdb_table table, struct slice key, struct slice value,
                     enum lmdb_put_mode mode);
enum status lmdb_delete(struct lmdb_txn *t, lmdb_table table, struct slice key);

/* From the first key at or above `from` on, in order, until `visit` returns other than ST_OK, which
 * is returned. `visit` must not write to the table. */
typedef enum status lmdb_visit(void *arg, struct slice key, struct slice value);
enum status lmdb_each(struct lmdb_txn *t, lmdb_table table, struct slice from, lmdb_visit *visit,
                      void *arg);

uint64_t lmdb_entries(struct lmdb_txn *t, lmdb_table table);
unsigned lmdb_drop_dead_readers(struct lmdb *env); /* how many there were: they pin old pages */

#endif
