/* One profiler by sequence. The catalog claims on which days each block of its sequences may lie; a
 * block is gathered from them, sorted and visited, so that memory is bounded by a block however
 * long the profiler ran and whatever its clock did. */
#include "coordinator/store/view.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/store/ledger_row.h"

struct block {
    struct store_view *view;
    const struct view_day *day; /* that rows are being gathered from */
    struct id128 profiler;
    uint64_t number; /* sequence / SEQUENCE_BLOCK */
    bool past; /* met a claim of another profiler */
    uint32_t count;
    struct ledger_row rows[SEQUENCE_BLOCK];
    enum status (*visit)(void *arg, const struct ledger_row *row);
    void *arg;
};

static int by_sequence(const void *a, const void *b)
{
    const struct ledger_row *x = a, *y = b;

    return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static enum status visit_rows(struct block *b)
{
    enum status st = ST_OK;

    qsort(b->rows, b->count, sizeof(b->rows[0]), by_sequence);
    for (uint32_t i = 0; i < b->count && st == ST_OK; i++)
        st = b->visit(b->arg, &b->rows[i]);
    b->count = 0;
    return st;
}

/* ST_NOT_FOUND: past the block. A key is unique in its file and a sequence in all of them, so a
 * block never has more rows than places. */
static enum status gather_row(void *arg, struct slice key, struct slice start)
{
    struct block *b = arg;
    uint8_t row_key[ROW_KEY_BYTES], last[SEQUENCE_KEY_BYTES];
    const struct slice at = {row_key, sizeof(row_key)};
    struct ledger_row row;
    struct slice value;
    uint64_t batch;
    enum status st;

    if (key.length != SEQUENCE_KEY_BYTES || start.length != 8)
        return ST_INVALID;
    ledger_sequence_key(b->profiler, b->number * SEQUENCE_BLOCK + SEQUENCE_BLOCK - 1, last);
    if (memcmp(key.bytes, last, sizeof(last)) > 0)
        return ST_NOT_FOUND;
    memcpy(row_key, start.bytes, 8);
    memcpy(row_key + 8, key.bytes, SEQUENCE_KEY_BYTES);
    st = lmdb_get(b->day->txn, b->day->bucket->rows, at, &value);
    if (st == ST_OK)
        st = ledger_row_unpack(at, value, &row, &batch);
    if (st == ST_OK && batch <= b->view->batch && b->count < SEQUENCE_BLOCK)
        b->rows[b->count++] = row;
    return st == ST_NOT_FOUND ? ST_INVALID : st;
}

static enum status gather_day(struct block *b, uint32_t day)
{
    uint8_t from[SEQUENCE_KEY_BYTES];
    struct view_day held;
    enum status st = view_hold_day(b->view, day, &held);

    if (st != ST_OK)
        return st == ST_NOT_FOUND ? ST_OK : st;
    ledger_sequence_key(b->profiler, b->number * SEQUENCE_BLOCK, from);
    b->day = &held;
    st = lmdb_each(held.txn, held.bucket->sequences, (struct slice){from, sizeof(from)}, gather_row,
                   b);
    view_release_day(b->view, &held);
    return st == ST_NOT_FOUND ? ST_OK : st;
}

/* Claims come by block, then day: the first of a new block closes the one before. */
static enum status take_claim(void *arg, struct slice key, struct slice value)
{
    struct block *b = arg;
    struct day_claim claim;
    enum status st = day_claim_unpack(key, &claim);

    (void)value;
    if (st != ST_OK)
        return st;
    if (!id128_equal(claim.profiler, b->profiler)) {
        b->past = true;
        return ST_NOT_FOUND;
    }
    if (claim.block != b->number)
        st = visit_rows(b);
    b->number = claim.block;
    return st == ST_OK ? gather_day(b, claim.day) : st;
}

enum status store_view_profiler(struct store_view *v, struct id128 profiler,
                                enum status (*visit)(void *arg, const struct ledger_row *row),
                                void *arg)
{
    const struct day_claim first = {.profiler = profiler};
    uint8_t from[CLAIM_KEY_BYTES];
    struct block *b = calloc(1, sizeof(*b));
    enum status st;

    if (b == NULL)
        return ST_NOMEM;
    b->view = v;
    b->profiler = profiler;
    b->visit = visit;
    b->arg = arg;
    day_claim_pack(&first, from);
    st = lmdb_each(v->catalog, v->store->catalog.tables[CATALOG_DAYS],
                   (struct slice){from, sizeof(from)}, take_claim, b);
    if (st == ST_OK || b->past)
        st = visit_rows(b);
    free(b);
    return st;
}
