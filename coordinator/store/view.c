/* A view is a read transaction in the catalog, taken when it opens, and one in each day file, taken
 * when the view first looks there and kept from then on. A chunk may thus be younger than the
 * catalog's snapshot: its dictionary entries are readable all the same, its profiler's record may
 * not be. */
#include <stdlib.h>
#include <string.h>

#include "coordinator/store/bytes.h"
#include "coordinator/store/ledger_row.h"
#include "coordinator/store/state.h"

struct held_day {
    struct bucket *bucket;
    struct lmdb_txn *txn;
};

struct store_view {
    struct store *store;
    struct lmdb_txn *catalog;
    struct held_day *days;
    size_t day_count;
};

enum status store_view_open(struct store *s, struct store_view **out)
{
    struct store_view *v = calloc(1, sizeof(*v));
    enum status st;

    if (v == NULL)
        return ST_NOMEM;
    v->store = s;
    st = lmdb_begin_read(s->catalog.env, &v->catalog);
    if (st != ST_OK) {
        free(v);
        return st;
    }
    *out = v;
    return ST_OK;
}

void store_view_close(struct store_view *v)
{
    if (v == NULL)
        return;
    for (size_t i = 0; i < v->day_count; i++) {
        lmdb_abort(v->days[i].txn);
        bucket_release(v->store->buckets, v->days[i].bucket);
    }
    free(v->days);
    lmdb_abort(v->catalog);
    free(v);
}

const struct dictionary *store_view_dictionary(const struct store_view *v)
{
    return v->store->catalog.dictionary;
}

enum status store_view_get(struct store_view *v, enum store_table table, struct slice key,
                           struct slice *out)
{
    return lmdb_get(v->catalog, v->store->catalog.tables[table], key, out);
}

enum status store_view_each(struct store_view *v, enum store_table table,
                            enum status (*visit)(void *arg, struct slice key, struct slice value),
                            void *arg)
{
    return lmdb_each(v->catalog, v->store->catalog.tables[table], (struct slice){NULL, 0}, visit,
                     arg);
}

/* ---- day files ---- */

static enum status add_day(struct store_view *v, uint32_t day)
{
    struct held_day *days = realloc(v->days, (v->day_count + 1) * sizeof(*days));
    struct held_day *d;
    enum status st;

    if (days == NULL)
        return ST_NOMEM;
    v->days = days;
    d = &days[v->day_count];
    st = bucket_hold(v->store->buckets, day, false, &d->bucket);
    if (st != ST_OK)
        return st;
    st = lmdb_begin_read(d->bucket->env, &d->txn);
    if (st != ST_OK) {
        bucket_release(v->store->buckets, d->bucket);
        return st;
    }
    v->day_count++;
    return ST_OK;
}

static enum status hold_day(struct store_view *v, uint32_t day, struct held_day *out)
{
    size_t i = 0;
    enum status st = ST_OK;

    while (i < v->day_count && v->days[i].bucket->day != day)
        i++;
    if (i == v->day_count)
        st = add_day(v, day);
    if (st == ST_OK)
        *out = v->days[i];
    return st;
}

typedef enum status visit_day(void *arg, const struct held_day *day);

static enum status each_day(struct store_view *v, uint32_t first, uint32_t last, visit_day *visit,
                            void *arg)
{
    uint32_t day;
    enum status st = ST_OK;

    while (st == ST_OK && buckets_next(v->store->buckets, first, last, &day)) {
        struct held_day held;

        st = hold_day(v, day, &held);
        if (st == ST_OK)
            st = visit(arg, &held);
        if (day == UINT32_MAX)
            break;
        first = day + 1;
    }
    return st;
}

/* ---- rows and chunks by time ---- */

struct walk {
    struct wall from, to;
    enum status (*visit_row)(void *arg, const struct ledger_row *row);
    enum status (*visit_chunk)(void *arg, const struct ledger_row *row, struct slice stored);
    void *arg;
    const struct held_day *day;
    bool past; /* met a row that starts at or after `to`: the rest of the day does too */
};

static enum status walk_row(void *arg, struct slice key, struct slice value)
{
    struct walk *w = arg;
    struct ledger_row row;
    struct slice stored;
    enum status st = ledger_row_unpack(key, value, &row);

    if (st != ST_OK)
        return st;
    if (row.start.ns >= w->to.ns) {
        w->past = true;
        return ST_EXISTS; /* ends the day's walk; walk_day knows */
    }
    if (row.end.ns <= w->from.ns)
        return ST_OK;
    if (w->visit_row != NULL)
        return w->visit_row(w->arg, &row);
    st = lmdb_get(w->day->txn, w->day->bucket->chunks, key, &stored);
    return st == ST_OK ? w->visit_chunk(w->arg, &row, stored) : st;
}

static struct wall earliest_start(struct wall from)
{
    return (struct wall){from.ns > CHUNK_WINDOW_MAX_NS ? from.ns - CHUNK_WINDOW_MAX_NS : 0};
}

static enum status walk_day(void *arg, const struct held_day *day)
{
    struct walk *w = arg;
    uint8_t from[8];
    enum status st;

    put_be(from, earliest_start(w->from).ns, sizeof(from));
    w->day = day;
    w->past = false;
    st = lmdb_each(day->txn, day->bucket->rows, (struct slice){from, sizeof(from)}, walk_row, w);
    return w->past ? ST_OK : st;
}

static enum status walk_time(struct store_view *v, struct walk *w)
{
    if (w->from.ns >= w->to.ns)
        return ST_OK;
    return each_day(v, bucket_day(earliest_start(w->from)), bucket_day(w->to), walk_day, w);
}

enum status store_view_chunks(struct store_view *v, struct wall from, struct wall to,
                              enum status (*visit)(void *arg, const struct ledger_row *row,
                                                   struct slice stored),
                              void *arg)
{
    struct walk w = {.from = from, .to = to, .visit_chunk = visit, .arg = arg};

    return walk_time(v, &w);
}

enum status store_view_ledger(struct store_view *v, struct wall from, struct wall to,
                              enum status (*visit)(void *arg, const struct ledger_row *row),
                              void *arg)
{
    struct walk w = {.from = from, .to = to, .visit_row = visit, .arg = arg};

    return walk_time(v, &w);
}

/* ---- one profiler's rows ---- */

struct profiler_walk {
    struct id128 profiler;
    enum status (*visit)(void *arg, const struct ledger_row *row);
    void *arg;
    const struct held_day *day;
    bool past;
};

static enum status walk_sequence(void *arg, struct slice key, struct slice start)
{
    struct profiler_walk *w = arg;
    uint8_t row_key[ROW_KEY_BYTES];
    struct ledger_row row;
    struct slice value;
    enum status st;

    if (key.length != SEQUENCE_KEY_BYTES || start.length != 8)
        return ST_INVALID;
    if (memcmp(key.bytes, w->profiler.bytes, ID128_BYTES) != 0) {
        w->past = true;
        return ST_EXISTS;
    }
    memcpy(row_key, start.bytes, 8);
    memcpy(row_key + 8, key.bytes, SEQUENCE_KEY_BYTES);
    st = lmdb_get(w->day->txn, w->day->bucket->rows, (struct slice){row_key, sizeof(row_key)},
                  &value);
    if (st == ST_OK)
        st = ledger_row_unpack((struct slice){row_key, sizeof(row_key)}, value, &row);
    return st == ST_OK ? w->visit(w->arg, &row) : st;
}

static enum status walk_profiler_day(void *arg, const struct held_day *day)
{
    struct profiler_walk *w = arg;
    uint8_t from[SEQUENCE_KEY_BYTES];
    enum status st;

    ledger_sequence_key(w->profiler, 0, from);
    w->day = day;
    w->past = false;
    st = lmdb_each(day->txn, day->bucket->sequences, (struct slice){from, sizeof(from)},
                   walk_sequence, w);
    return w->past ? ST_OK : st;
}

enum status store_view_profiler(struct store_view *v, struct id128 profiler,
                                enum status (*visit)(void *arg, const struct ledger_row *row),
                                void *arg)
{
    struct profiler_walk w = {.profiler = profiler, .visit = visit, .arg = arg};

    return each_day(v, 0, UINT32_MAX, walk_profiler_day, &w);
}
