#include "coordinator/store/txn.h"

#include <string.h>

#include "coordinator/store/bytes.h"
#include "coordinator/store/ledger_row.h"

/* Numbers that an earlier life reserved may be in use; those past them are not. */
static enum status take_number(struct store_txn *t)
{
    uint8_t value[8];

    t->number = atomic_load(&t->catalog->batch) + 1;
    t->reserved = t->catalog->batch_reserved;
    if (t->number <= t->reserved)
        return ST_OK;
    t->reserved += BATCH_NUMBERS;
    put_be(value, t->reserved, sizeof(value));
    return lmdb_put(t->main, t->catalog->tables[STORE_META],
                    (struct slice){(const uint8_t *)BATCH_KEY, sizeof(BATCH_KEY) - 1},
                    (struct slice){value, sizeof(value)}, LMDB_REPLACE);
}

enum status txn_begin(struct catalog *catalog, struct buckets *buckets, struct store_txn *out)
{
    struct store_txn t = {.catalog = catalog, .buckets = buckets, .touched = TXN_NO_BUCKET};
    enum status st = lmdb_begin_write(catalog->env, &t.main);

    if (st != ST_OK)
        return st;
    (void)take_number(&t); /* a failure sticks to the transaction */
    *out = t;
    return ST_OK;
}

enum status txn_status(const struct store_txn *t)
{
    enum status st = lmdb_txn_status(t->main);

    for (int i = 0; i < t->day_count && st == ST_OK; i++)
        st = lmdb_txn_status(t->days[i].txn);
    return st;
}

static void end_day(struct store_txn *t, int i, bool commit)
{
    if (commit)
        t->days[i].committed = lmdb_commit(t->days[i].txn);
    else
        lmdb_abort(t->days[i].txn);
}

/* A map that was too small for the batch is doubled while its file is still held. */
static void grow_what_was_full(struct store_txn *t)
{
    t->grown = lmdb_grow(t->catalog->env) == ST_OK;
    for (int i = 0; i < t->day_count; i++) {
        if (lmdb_grow(t->days[i].bucket->env) == ST_OK)
            t->grown = true;
        bucket_release(t->buckets, t->days[i].bucket);
    }
}

enum status txn_commit(struct store_txn *t)
{
    enum status st = txn_status(t);

    if (st == ST_OK)
        st = lmdb_commit(t->main);
    else
        lmdb_abort(t->main);
    if (st == ST_OK) {
        t->catalog->batch_reserved = t->reserved;
        dictionary_publish(t->catalog->dictionary);
    } else {
        dictionary_rollback(t->catalog->dictionary);
    }
    for (int i = 0; i < t->day_count; i++)
        end_day(t, i, st == ST_OK);
    if (st == ST_OK)
        atomic_store(&t->catalog->batch, t->number);
    grow_what_was_full(t);
    return st;
}

enum status store_txn_put(struct store_txn *t, enum store_table table, struct slice key,
                          struct slice value)
{
    if (key.length == 0 || key.length > STORE_KEY_MAX)
        return ST_INVALID;
    return lmdb_put(t->main, t->catalog->tables[table], key, value, LMDB_REPLACE);
}

enum status store_txn_get(struct store_txn *t, enum store_table table, struct slice key,
                          struct slice *out)
{
    return lmdb_get(t->main, t->catalog->tables[table], key, out);
}

enum status store_txn_delete(struct store_txn *t, enum store_table table, struct slice key)
{
    return lmdb_delete(t->main, t->catalog->tables[table], key);
}

/* A dictionary at its own limit says ST_FULL and nothing is broken; after LMDB's ST_FULL the
 * transaction is, and the batch is run again whatever the write makes of it. */
enum status store_txn_string(struct store_txn *t, const char *text, uint32_t *out)
{
    return dictionary_add_string(t->catalog->dictionary, t->main, text, out);
}

enum status store_txn_binary(struct store_txn *t, const struct build_id *id, uint32_t path,
                             uint32_t *out)
{
    const struct chunk_binary binary = {*id, path};

    return dictionary_add_binary(t->catalog->dictionary, t->main, &binary, out);
}

enum status store_txn_frame(struct store_txn *t, const struct chunk_frame *frame, uint32_t *out)
{
    return dictionary_add_frame(t->catalog->dictionary, t->main, frame, out);
}

enum status store_txn_node(struct store_txn *t, struct chunk_node node, uint32_t *out)
{
    return dictionary_add_node(t->catalog->dictionary, t->main, node, out);
}

static int find_day(const struct store_txn *t, uint32_t day)
{
    for (int i = 0; i < t->day_count; i++)
        if (t->days[i].bucket->day == day)
            return i;
    return TXN_NO_BUCKET;
}

static enum status day_of(struct store_txn *t, uint32_t day, int *out)
{
    int at = find_day(t, day);
    enum status st;

    if (at != TXN_NO_BUCKET) {
        *out = at;
        return ST_OK;
    }
    if (t->day_count == TXN_BUCKETS_MAX)
        return ST_BAD_STATE;
    st = bucket_hold(t->buckets, day, true, &t->days[t->day_count].bucket);
    if (st != ST_OK)
        return st;
    st = lmdb_begin_write(t->days[t->day_count].bucket->env, &t->days[t->day_count].txn);
    if (st != ST_OK) {
        bucket_release(t->buckets, t->days[t->day_count].bucket);
        return st;
    }
    *out = t->day_count++;
    return ST_OK;
}

/* ---- a chunk is stored once ----
 * A clock correction on the host must not move a resent chunk to another day and count it twice. So
 * the days that the catalog claims for the chunk's block of sequences are all looked at. */

struct elsewhere {
    struct store_txn *txn;
    struct day_claim home; /* where the chunk is about to go */
    struct slice sequence_key;
};

/* ST_OK: it is there; ST_NOT_FOUND. */
static enum status look_in_file(struct store_txn *t, uint32_t day, struct slice sequence_key)
{
    struct lmdb_txn *txn;
    struct bucket *k;
    struct slice start;
    enum status st = bucket_hold(t->buckets, day, false, &k);

    if (st != ST_OK)
        return st;
    st = lmdb_begin_read(k->env, &txn);
    if (st == ST_OK) {
        st = lmdb_get(txn, k->sequences, sequence_key, &start);
        lmdb_abort(txn);
    }
    bucket_release(t->buckets, k);
    return st;
}

/* A day that this batch changes is asked in the batch's own transaction, and the write that met a
 * chunk there then shares its fate. */
static enum status look_in_day(struct store_txn *t, uint32_t day, struct slice sequence_key)
{
    int at = find_day(t, day);
    struct slice start;
    enum status st;

    if (at == TXN_NO_BUCKET)
        return look_in_file(t, day, sequence_key);
    st = lmdb_get(t->days[at].txn, t->days[at].bucket->sequences, sequence_key, &start);
    if (st == ST_OK)
        t->touched = at;
    return st;
}

static enum status look_at_claim(void *arg, struct slice key, struct slice value)
{
    struct elsewhere *e = arg;
    struct day_claim claim;
    enum status st = day_claim_unpack(key, &claim);

    (void)value;
    if (st != ST_OK)
        return st;
    if (claim.block != e->home.block || !id128_equal(claim.profiler, e->home.profiler))
        return ST_NOT_FOUND; /* past the last claim */
    if (claim.day == e->home.day)
        return ST_OK;
    st = look_in_day(e->txn, claim.day, e->sequence_key);
    if (st == ST_NOT_FOUND)
        return ST_OK;
    return st == ST_OK ? ST_EXISTS : st;
}

/* ST_EXISTS: it is stored on another day; ST_OK: on none. */
static enum status look_elsewhere(struct store_txn *t, const struct day_claim *home,
                                  struct slice sequence_key)
{
    const struct day_claim first = {.profiler = home->profiler, .block = home->block};
    struct elsewhere e = {t, *home, sequence_key};
    uint8_t from[CLAIM_KEY_BYTES];
    enum status st;

    day_claim_pack(&first, from);
    st = lmdb_each(t->main, t->catalog->tables[CATALOG_DAYS], (struct slice){from, sizeof(from)},
                   look_at_claim, &e);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

static enum status claim_day(struct store_txn *t, const struct day_claim *claim)
{
    uint8_t key[CLAIM_KEY_BYTES];
    enum status st;

    day_claim_pack(claim, key);
    st = lmdb_put(t->main, t->catalog->tables[CATALOG_DAYS], (struct slice){key, sizeof(key)},
                  (struct slice){key, 0}, LMDB_NEW);
    return st == ST_EXISTS ? ST_OK : st;
}

static enum status put_chunk(struct store_txn *t, int day, const struct ledger_row *row,
                             struct slice sequence_key, struct slice stored)
{
    uint8_t row_key[ROW_KEY_BYTES], row_bytes[ROW_BYTES_MAX];
    const struct slice key = {row_key, sizeof(row_key)};
    const struct slice value = {row_bytes, ledger_row_pack(row, t->number, row_bytes)};
    const struct bucket *k = t->days[day].bucket;
    struct lmdb_txn *txn = t->days[day].txn;
    enum status st;

    ledger_row_key(row, row_key);
    st = lmdb_put(txn, k->sequences, sequence_key, (struct slice){row_key, 8}, LMDB_NEW);
    if (st == ST_OK)
        st = lmdb_put(txn, k->rows, key, value, LMDB_NEW);
    if (st == ST_OK)
        st = lmdb_put(txn, k->chunks, key, stored, LMDB_NEW);
    return st;
}

enum status store_txn_chunk(struct store_txn *t, const struct chunk_info *info, struct slice stored)
{
    const struct ledger_row row = ledger_row_of(info);
    const struct day_claim home = {info->profiler, info->sequence / SEQUENCE_BLOCK,
                                   bucket_day(row.start)};
    uint8_t sequence[SEQUENCE_KEY_BYTES];
    const struct slice sequence_key = {sequence, sizeof(sequence)};
    enum status st;
    int at;

    ledger_sequence_key(info->profiler, info->sequence, sequence);
    st = look_elsewhere(t, &home, sequence_key);
    if (st == ST_OK)
        st = day_of(t, home.day, &at);
    if (st != ST_OK)
        return st;
    t->touched = at;
    st = put_chunk(t, at, &row, sequence_key, stored);
    if (st == ST_OK)
        st = claim_day(t, &home);
    return st;
}
