#include "coordinator/store/txn.h"

#include <string.h>

#include "coordinator/store/bytes.h"
#include "coordinator/store/ledger_row.h"

enum status txn_begin(struct catalog *catalog, struct buckets *buckets, struct store_txn *out)
{
    struct store_txn t = {.catalog = catalog, .buckets = buckets, .touched = TXN_NO_BUCKET};
    enum status st = lmdb_begin_write(catalog->env, &t.main);

    if (st == ST_OK)
        *out = t;
    return st;
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
    if (st == ST_OK)
        dictionary_publish(t->catalog->dictionary);
    else
        dictionary_rollback(t->catalog->dictionary);
    for (int i = 0; i < t->day_count; i++)
        end_day(t, i, st == ST_OK);
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

static enum status day_of(struct store_txn *t, uint32_t day, int *out)
{
    enum status st;

    for (int i = 0; i < t->day_count; i++) {
        if (t->days[i].bucket->day == day) {
            *out = i;
            return ST_OK;
        }
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

/* A clock correction on the host must not move a resent chunk past midnight and count it twice. */
static bool is_in_day(struct store_txn *t, uint32_t day, struct slice sequence_key)
{
    struct lmdb_txn *txn;
    struct bucket *k;
    struct slice start;
    bool found = false;

    if (bucket_hold(t->buckets, day, false, &k) != ST_OK)
        return false;
    if (lmdb_begin_read(k->env, &txn) == ST_OK) {
        found = lmdb_get(txn, k->sequences, sequence_key, &start) == ST_OK;
        lmdb_abort(txn);
    }
    bucket_release(t->buckets, k);
    return found;
}

static enum status put_chunk(struct store_txn *t, int day, const struct ledger_row *row,
                             struct slice sequence_key, struct slice stored)
{
    uint8_t row_key[ROW_KEY_BYTES], row_bytes[ROW_BYTES];
    const struct slice key = {row_key, sizeof(row_key)}, value = {row_bytes, sizeof(row_bytes)};
    const struct bucket *k = t->days[day].bucket;
    struct lmdb_txn *txn = t->days[day].txn;
    enum status st;

    ledger_row_key(row, row_key);
    ledger_row_pack(row, row_bytes);
    st = lmdb_put(txn, k->sequences, sequence_key, (struct slice){row_key, 8}, LMDB_NEW);
    if (st == ST_OK)
        st = lmdb_put(txn, k->rows, key, value, LMDB_NEW);
    if (st == ST_OK)
        st = lmdb_put(txn, k->chunks, key, stored, LMDB_NEW);
    return st;
}

enum status store_txn_chunk(struct store_txn *t, const struct chunk_info *info, struct slice stored)
{
    struct ledger_row row = ledger_row_of(info);
    uint8_t sequence[SEQUENCE_KEY_BYTES];
    const struct slice sequence_key = {sequence, sizeof(sequence)};
    uint32_t day = bucket_day(row.start);
    int at;
    enum status st = day_of(t, day, &at);

    if (st != ST_OK)
        return st;
    t->touched = at;
    ledger_sequence_key(info->profiler, info->sequence, sequence);
    if (is_in_day(t, day - 1, sequence_key) || is_in_day(t, day + 1, sequence_key))
        st = ST_EXISTS;
    else
        st = put_chunk(t, at, &row, sequence_key, stored);
    return st;
}
