/* Symbol tables: from their parts into the store, and which ones are still missing.
 * A whole table is decoded by a worker, which takes seconds for the largest, and only then goes to
 * the writer: commits, which agents wait for, are not held up. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"
#include "common/utf8.h"
#include "coordinator/ingest/state.h"

enum {
    MISSING_LOOKS_MAX = 1 << 14, /* binaries a call looks at: about 10 ms of the loop */
    RECORD_BYTES_MAX = 4096,
};

struct symbols_job {
    struct work work;
    struct store_write write;
    struct ingest *ingest;
    struct symbol_upload *upload;
    bool force;
    struct symbol_record record; /* of the table that came */
    struct symbols_result result;
    symbols_done *done;
    void *arg;
};

static struct slice key_of(const struct build_id *id)
{
    return (struct slice){id->bytes, id->length};
}

/* ---- checking: a worker ---- */

static struct symbols_job *job_of_work(struct work *w)
{
    return (struct symbols_job *)w; /* its first member */
}

static struct symbols_job *job_of_write(struct store_write *w)
{
    return (struct symbols_job *)((char *)w - offsetof(struct symbols_job, write));
}

static void check(struct work *w)
{
    struct symbols_job *j = job_of_work(w);
    struct symtab table;

    j->result.status =
        symtab_decode_all((struct slice){j->upload->bytes, j->upload->length}, &table);
    if (j->result.status != ST_OK)
        return;
    j->record.symbols = table.count;
    j->record.sources = table.sources;
    j->record.grade = symtab_grade(&table);
    symtab_deinit(&table);
}

/* ---- storing: the writer thread ---- */

/* Of a table without a record nothing is known but that it is there: any good one is better. */
static struct symbol_record stored_record(struct store_txn *t, const struct build_id *id)
{
    struct symbol_record record = {.origin = SYMBOL_FROM_AGENT};
    struct slice bytes;

    if (store_txn_get(t, STORE_SYMBOL_RECORDS, key_of(id), &bytes) == ST_OK)
        (void)symbol_record_decode(bytes, &record); /* a damaged one is none */
    return record;
}

static enum status put_record(struct store_txn *t, const struct build_id *id,
                              const struct symbol_record *record)
{
    struct wire_writer *w;
    enum status st = wire_writer_new(RECORD_BYTES_MAX, &w);

    if (st != ST_OK)
        return st;
    st = symbol_record_encode(record, w);
    if (st == ST_OK)
        st = store_txn_put(t, STORE_SYMBOL_RECORDS, key_of(id), wire_writer_bytes(w));
    wire_writer_free(w);
    return st;
}

/* The bytes go in as they came: that is the form that queries read. */
static enum status apply(struct store_write *w, struct store_txn *t)
{
    struct symbols_job *j = job_of_write(w);
    const struct symbol_upload *u = j->upload;
    struct slice stored;
    enum status st = store_txn_get(t, STORE_SYMBOLS, key_of(&u->id), &stored);

    j->result.record = j->record;
    if (st != ST_OK && st != ST_NOT_FOUND)
        return st;
    if (st == ST_OK && !j->force) {
        struct symbol_record before = stored_record(t, &u->id);

        if (!symbol_record_is_better(&j->record, &before)) {
            j->result.record = before;
            return ST_EXISTS;
        }
    }
    st = store_txn_put(t, STORE_SYMBOLS, key_of(&u->id), (struct slice){u->bytes, u->length});
    return st == ST_OK ? put_record(t, &u->id, &j->record) : st;
}

/* ---- the way: the loop ---- */

static void count(struct ingest_counters *n, enum status st)
{
    n->symbol_tables += st == ST_OK;
    n->symbol_refused += st == ST_INVALID || st == ST_TOO_BIG || st == ST_UNSUPPORTED;
}

static void finish(struct symbols_job *j)
{
    count(&j->ingest->counters, j->result.status);
    symbol_upload_free(&j->ingest->uploads, j->upload);
    j->done(j->arg, &j->result);
    free(j);
}

static void on_stored(struct store_write *w, enum status st)
{
    struct symbols_job *j = job_of_write(w);

    j->result.status = st;
    finish(j);
}

static void on_checked(struct work *w)
{
    struct symbols_job *j = job_of_work(w);

    if (j->result.status == ST_OK)
        store_submit(j->ingest->store, &j->write);
    else
        finish(j);
}

static void put_text(char *out, size_t size, const char *text)
{
    size_t length = utf8_cut(text, strlen(text), size - 1);

    memcpy(out, text, length);
    out[length] = '\0';
    utf8_repair(out, length);
}

static enum status submit(struct ingest *i, const struct symbols_source *source,
                          struct symbol_upload *upload, symbols_done *done, void *arg)
{
    struct symbols_job *j = calloc(1, sizeof(*j));

    if (j == NULL) {
        symbol_upload_free(&i->uploads, upload);
        return ST_NOMEM;
    }
    *j = (struct symbols_job){.ingest = i, .upload = upload, .done = done, .arg = arg};
    j->force = source->force;
    j->record.origin = source->origin;
    j->record.stored = source->now;
    put_text(j->record.from, sizeof(j->record.from), source->from);
    put_text(j->record.name, sizeof(j->record.name), source->name);
    j->result.id = upload->id;
    j->work = (struct work){.run = check, .done = on_checked};
    j->write = (struct store_write){.apply = apply, .done = on_stored, .bytes = upload->length};
    i->workers.submit(i->workers.arg, &j->work);
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

/* An operator may send symbols before any samples: they will name them when they come. */
static enum status receive(struct ingest *i, const struct symbols_source *source,
                           const struct symbols_part *part, struct symbol_upload **whole)
{
    bool asks = part->part == 0 && source->origin == SYMBOL_FROM_AGENT;
    enum status st = asks ? check_wanted(i, &part->id) : ST_OK;

    if (part->id.length == 0)
        st = ST_NOT_FOUND;
    if (st == ST_OK)
        return symbol_uploads_add(&i->uploads, source->origin, source->from, part, whole);
    symbol_uploads_drop(&i->uploads, source->origin, &part->id);
    return st;
}

enum status ingest_symbols(struct ingest *i, const struct symbols_source *source,
                           const struct symbols_part *part, symbols_done *done, void *arg)
{
    struct symbol_upload *whole = NULL;
    enum status st;

    if (part->parts == 0) {
        symbol_uploads_drop(&i->uploads, source->origin, &part->id);
        return ST_OK;
    }
    st = receive(i, source, part, &whole);
    if (st != ST_OK) {
        count(&i->counters, st);
        return st;
    }
    return whole == NULL ? ST_OK : submit(i, source, whole, done, arg);
}

/* ---- missing ---- */

static bool is_missing(struct store_view *v, const struct build_id *id)
{
    struct slice stored;

    return store_view_get(v, STORE_SYMBOLS, key_of(id), &stored) == ST_NOT_FOUND;
}

static bool is_poor(struct store_view *v, const struct build_id *id)
{
    struct symbol_record record = {0};
    struct slice bytes;

    if (is_missing(v, id))
        return true;
    if (store_view_get(v, STORE_SYMBOL_RECORDS, key_of(id), &bytes) == ST_OK)
        (void)symbol_record_decode(bytes, &record); /* without one it is of the lowest grade */
    return record.grade == SYMTAB_GRADE_EXPORTS;
}

static uint32_t look_for(const struct ingest *i,
                         bool (*is_wanted)(struct store_view *v, const struct build_id *id),
                         uint32_t *cursor, struct build_id *out, uint32_t max)
{
    const struct chunk_binary *b = NULL;
    struct store_view *v;
    uint32_t at = *cursor, looks = 0, found = 0;

    if (store_view_open(i->store, &v) != ST_OK)
        return 0;
    for (; found < max && looks < MISSING_LOOKS_MAX; at++, looks++) {
        b = dictionary_binary(store_view_dictionary(v), at);
        if (b == NULL)
            break;
        if (b->id.length > 0 && is_wanted(v, &b->id))
            out[found++] = b->id;
    }
    if (dictionary_binary(store_view_dictionary(v), at) == NULL)
        at = 0;
    store_view_close(v);
    *cursor = at;
    return found;
}

uint32_t ingest_missing_symbols(const struct ingest *i, uint32_t *cursor, struct build_id *out,
                                uint32_t max)
{
    return look_for(i, is_missing, cursor, out, max);
}

uint32_t ingest_poor_symbols(const struct ingest *i, uint32_t *cursor, struct build_id *out,
                             uint32_t max)
{
    return look_for(i, is_poor, cursor, out, max);
}
