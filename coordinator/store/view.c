#include "coordinator/store/view.h"

#include <stdlib.h>

#include "coordinator/store/bytes.h"
#include "coordinator/store/ledger_row.h"

enum status store_view_open(struct store *s, struct store_view **out)
{
    struct store_view *v = calloc(1, sizeof(*v));
    enum status st;

    if (v == NULL)
        return ST_NOMEM;
    v->store = s;
    v->batch = atomic_load(&s->catalog.batch);
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

enum status view_hold_day(struct store_view *v, uint32_t day, struct view_day *out)
{
    struct view_day d;
    enum status st = bucket_hold(v->store->buckets, day, false, &d.bucket);

    if (st != ST_OK)
        return st;
    st = lmdb_begin_read(d.bucket->env, &d.txn);
    if (st != ST_OK) {
        bucket_release(v->store->buckets, d.bucket);
        return st;
    }
    *out = d;
    return ST_OK;
}

void view_release_day(struct store_view *v, struct view_day *d)
{
    lmdb_abort(d->txn);
    bucket_release(v->store->buckets, d->bucket);
}

/* ---- rows and chunks by time ---- */

struct walk {
    struct store_view *view;
    struct wall from, to;
    enum status (*visit_row)(void *arg, const struct ledger_row *row);
    enum status (*visit_chunk)(void *arg, const struct ledger_row *row, struct slice stored);
    void *arg;
    const struct view_day *day;
    bool past; /* met a row that starts at or after `to`: the rest of the day does too */
};

static enum status walk_row(void *arg, struct slice key, struct slice value)
{
    struct walk *w = arg;
    struct ledger_row row;
    struct slice stored;
    uint64_t batch;
    enum status st = ledger_row_unpack(key, value, &row, &batch);

    if (st != ST_OK)
        return st;
    if (row.start.ns >= w->to.ns) {
        w->past = true;
        return ST_EXISTS; /* ends the day's walk; walk_day knows */
    }
    if (row.end.ns <= w->from.ns || batch > w->view->batch)
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

static enum status walk_day(struct walk *w, const struct view_day *day)
{
    uint8_t from[8];
    enum status st;

    put_be(from, earliest_start(w->from).ns, sizeof(from));
    w->day = day;
    w->past = false;
    st = lmdb_each(day->txn, day->bucket->rows, (struct slice){from, sizeof(from)}, walk_row, w);
    return w->past ? ST_OK : st;
}

static enum status walk_time(struct walk *w)
{
    uint32_t day = bucket_day(earliest_start(w->from)), last = bucket_day(w->to);
    enum status st = ST_OK;

    if (w->from.ns >= w->to.ns)
        return ST_OK;
    for (; st == ST_OK && buckets_next(w->view->store->buckets, day, last, &day); day++) {
        struct view_day held;

        st = view_hold_day(w->view, day, &held);
        if (st != ST_OK)
            break;
        st = walk_day(w, &held);
        view_release_day(w->view, &held);
    }
    return st;
}

enum status store_view_chunks(struct store_view *v, struct wall from, struct wall to,
                              enum status (*visit)(void *arg, const struct ledger_row *row,
                                                   struct slice stored),
                              void *arg)
{
    struct walk w = {.view = v, .from = from, .to = to, .visit_chunk = visit, .arg = arg};

    return walk_time(&w);
}

enum status store_view_ledger(struct store_view *v, struct wall from, struct wall to,
                              enum status (*visit)(void *arg, const struct ledger_row *row),
                              void *arg)
{
    struct walk w = {.view = v, .from = from, .to = to, .visit_row = visit, .arg = arg};

    return walk_time(&w);
}
