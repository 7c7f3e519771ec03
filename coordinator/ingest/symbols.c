/* Symbol tables: from their parts into the store, and which ones are still missing. */
#include <stdlib.h>

#include "common/symtab.h"
#include "coordinator/ingest/state.h"

enum { MISSING_LOOKS_MAX = 1 << 14 }; /* binaries a call looks at: about 10 ms of the loop */

typedef void symbols_done(void *arg, const struct build_id *id, enum status st);

struct symbols_job {
    struct store_write write;
    struct ingest *ingest;
    struct symbol_upload *upload;
    symbols_done *done;
    void *arg;
};

static struct slice key_of(const struct build_id *id)
{
    return (struct slice){id->bytes, id->length};
}

/* ---- storing ---- */

/* Writer thread: decoding the largest table takes seconds, which commits bear better than the
 * loop. The bytes go in as they came: that is the form that queries read. */
static enum status apply(struct store_write *w, struct store_txn *t)
{
    const struct symbol_upload *u = ((struct symbols_job *)w)->upload;
    const struct slice packed = {u->bytes, u->length};
    struct symtab table;
    struct slice stored;
    enum status st = store_txn_get(t, STORE_SYMBOLS, key_of(&u->id), &stored);

    if (st != ST_NOT_FOUND)
        return st == ST_OK ? ST_EXISTS : st;
    st = symtab_decode_all(packed, &table);
    if (st != ST_OK)
        return st;
    symtab_deinit(&table);
    return store_txn_put(t, STORE_SYMBOLS, key_of(&u->id), packed);
}

static void count(struct ingest_counters *n, enum status st)
{
    n->symbol_tables += st == ST_OK;
    n->symbol_refused += st == ST_INVALID || st == ST_TOO_BIG || st == ST_UNSUPPORTED;
}

static void on_done(struct store_write *w, enum status st)
{
    struct symbols_job *j = (struct symbols_job *)w;
    struct build_id id = j->upload->id;

    count(&j->ingest->counters, st);
    symbol_upload_free(&j->ingest->uploads, j->upload);
    j->done(j->arg, &id, st);
    free(j);
}

static enum status submit(struct ingest *i, struct symbol_upload *upload, symbols_done *done,
                          void *arg)
{
    struct symbols_job *j = calloc(1, sizeof(*j));

    if (j == NULL) {
        symbol_upload_free(&i->uploads, upload);
        return ST_NOMEM;
    }
    *j = (struct symbols_job){.ingest = i, .upload = upload, .done = done, .arg = arg};
    j->write = (struct store_write){.apply = apply, .done = on_done, .bytes = upload->length};
    store_submit(i->store, &j->write);
    return ST_OK;
}

/* ---- receiving ---- */

/* Walks all binaries, a few ms when the dictionary is full: once an upload, not once a part. */
static bool is_of_a_sample(const struct dictionary *d, const struct build_id *id)
{
    const struct chunk_binary *b;

    for (uint32_t i = 0; (b = dictionary_binary(d, i)) != NULL; i++)
        if (build_id_equal(&b->id, id))
            return true;
    return false;
}

static enum status check_wanted(const struct ingest *i, const struct build_id *id)
{
    struct store_view *v;
    struct slice stored;
    enum status st;

    if (id->length == 0)
        return ST_NOT_FOUND;
    st = store_view_open(i->store, &v);
    if (st != ST_OK)
        return st;
    st = store_view_get(v, STORE_SYMBOLS, key_of(id), &stored);
    if (st == ST_OK)
        st = ST_EXISTS;
    else if (st == ST_NOT_FOUND && is_of_a_sample(store_view_dictionary(v), id))
        st = ST_OK;
    store_view_close(v);
    return st;
}

static enum status receive(struct ingest *i, const char *host, const struct symbols_part *part,
                           struct symbol_upload **whole)
{
    enum status st = part->part == 0 ? check_wanted(i, &part->id) : ST_OK;

    if (st == ST_OK)
        return symbol_uploads_add(&i->uploads, host, part, whole);
    symbol_uploads_drop(&i->uploads, &part->id);
    return st;
}

enum status ingest_symbols(struct ingest *i, const char *host, const struct symbols_part *part,
                           symbols_done *done, void *arg)
{
    struct symbol_upload *whole = NULL;
    enum status st;

    if (part->parts == 0) {
        symbol_uploads_drop(&i->uploads, &part->id);
        return ST_OK;
    }
    st = receive(i, host, part, &whole);
    if (st != ST_OK) {
        count(&i->counters, st);
        return st;
    }
    return whole == NULL ? ST_OK : submit(i, whole, done, arg);
}

/* ---- missing ---- */

uint32_t ingest_missing_symbols(const struct ingest *i, uint32_t *cursor, struct build_id *out,
                                uint32_t max)
{
    const struct chunk_binary *b = NULL;
    struct store_view *v;
    struct slice stored;
    uint32_t at = *cursor, looks = 0, found = 0;

    if (store_view_open(i->store, &v) != ST_OK)
        return 0;
    for (; found < max && looks < MISSING_LOOKS_MAX; at++, looks++) {
        b = dictionary_binary(store_view_dictionary(v), at);
        if (b == NULL)
            break;
        if (b->id.length > 0 &&
            store_view_get(v, STORE_SYMBOLS, key_of(&b->id), &stored) == ST_NOT_FOUND)
            out[found++] = b->id;
    }
    if (dictionary_binary(store_view_dictionary(v), at) == NULL)
        at = 0;
    store_view_close(v);
    *cursor = at;
    return found;
}
