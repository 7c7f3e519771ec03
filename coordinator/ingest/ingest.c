/* One chunk is one job: it owns a copy of the bytes, rides a batch of the store's writer thread and
 * comes back to the loop with what became of it. While it is with the writer nobody else touches
 * it, so nothing here needs a lock. */
#include "coordinator/ingest/ingest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/ingest/admission.h"
#include "coordinator/ingest/intern.h"
#include "coordinator/ingest/state.h"

struct job {
    struct store_write write;
    struct ingest *ingest;
    char host[MESSAGE_HOST_MAX + 1];
    struct wall now;
    ingest_done *done;
    void *arg;
    struct ingest_result result;
    enum status applied; /* what the last run said; another status is of the commit */
    struct build_id *new_binaries; /* owned; the result lends them */
    uint32_t samples, folded;
    size_t length;
    uint8_t bytes[]; /* the packed chunk */
};

static void run_at_once(void *arg, struct work *w)
{
    (void)arg;
    w->run(w);
    w->done(w);
}

enum status ingest_new(struct store *store, const struct workers *workers, struct ingest **out)
{
    struct ingest *i = calloc(1, sizeof(*i));

    if (i == NULL)
        return ST_NOMEM;
    i->store = store;
    i->workers = workers != NULL ? *workers : (struct workers){.submit = run_at_once};
    *out = i;
    return ST_OK;
}

void ingest_free(struct ingest *i)
{
    if (i == NULL)
        return;
    symbol_uploads_deinit(&i->uploads);
    free(i);
}

struct ingest_counters ingest_read_counters(const struct ingest *i)
{
    return i->counters;
}

/* ---- writer thread ---- */

static enum status put_chunk(struct job *j, struct store_txn *t, struct chunk *c)
{
    struct blob stored = {0};
    enum status st = intern_chunk(t, c, &j->folded);

    if (st != ST_OK)
        return st;
    st = chunk_encode(c, CHUNK_STORED, &stored);
    if (st == ST_TOO_BIG) { /* the store's ids are longer than the chunk's own indexes */
        j->result.refusal = REFUSAL_TOO_BIG;
        (void)snprintf(j->result.text, sizeof(j->result.text),
                       "in the store's form the chunk is over its limit: send shorter windows");
    }
    if (st != ST_OK)
        return st;
    st = store_txn_chunk(t, &c->info, blob_slice(&stored));
    blob_deinit(&stored);
    return st;
}

/* Without memory for them nothing is lost: the binary's next chunk finds them again. */
static void find_new_binaries(struct job *j, struct store_txn *t, const struct chunk_dictionary *d)
{
    j->new_binaries = calloc(d->binary_count > 0 ? d->binary_count : 1, sizeof(*j->new_binaries));
    if (j->new_binaries == NULL)
        return;
    for (uint32_t i = 0; i < d->binary_count; i++) {
        const struct build_id *id = &d->binaries[i].id;
        struct slice symbols;

        if (id->length > 0 && store_txn_get(t, STORE_SYMBOLS, (struct slice){id->bytes, id->length},
                                            &symbols) == ST_NOT_FOUND)
            j->new_binaries[j->result.new_binary_count++] = *id;
    }
    j->result.new_binaries = j->new_binaries;
}

static enum status take(struct job *j, struct store_txn *t)
{
    struct ingest_result *r = &j->result;
    const struct slice bytes = {j->bytes, j->length};
    struct chunk c = {0};
    const char *why = "";
    enum status st = chunk_decode(bytes, CHUNK_WIRE, &c, &why);

    if (st == ST_NOMEM)
        return st;
    if (st != ST_OK) {
        r->refusal = refusal_for(st);
        (void)snprintf(r->text, sizeof(r->text), "the chunk cannot be read: %s", why);
        return st;
    }
    r->info = c.info;
    j->samples = c.samples.sample_count;
    st = admission_check(t, &c.info, j->host, j->now, &r->refusal, r->text);
    if (st == ST_OK)
        st = put_chunk(j, t, &c);
    if (st == ST_OK || st == ST_EXISTS)
        find_new_binaries(j, t, &c.dictionary);
    chunk_deinit(&c);
    return st;
}

/* Runs again when its batch did not become durable: then nothing of the first run counts. */
static enum status apply(struct store_write *w, struct store_txn *t)
{
    struct job *j = (struct job *)w;

    free(j->new_binaries);
    j->new_binaries = NULL;
    j->result = (struct ingest_result){0};
    j->folded = 0;
    j->applied = take(j, t);
    return j->applied;
}

/* ---- loop thread ---- */

static void count(struct ingest_counters *n, const struct job *j)
{
    if (j->result.refusal != 0) {
        n->refused[j->result.refusal]++;
    } else if (j->result.status == ST_EXISTS) {
        n->duplicates++;
    } else if (j->result.status == ST_OK) {
        n->chunks++;
        n->samples += j->samples;
        n->bytes += j->length;
        n->folded_samples += j->folded;
    }
}

static void on_done(struct store_write *w, enum status st)
{
    struct job *j = (struct job *)w;

    j->result.status = st;
    if (st != j->applied) /* what was found out in a batch that failed is not known for sure */
        j->result.refusal = 0;
    count(&j->ingest->counters, j);
    j->done(j->arg, &j->result);
    free(j->new_binaries);
    free(j);
}

enum status ingest_chunk(struct ingest *i, const char *host, struct slice bytes, struct wall now,
                         ingest_done *done, void *arg)
{
    struct job *j;

    if (bytes.length > CHUNK_PACKED_MAX)
        return ST_TOO_BIG;
    j = calloc(1, sizeof(*j) + bytes.length);
    if (j == NULL)
        return ST_NOMEM;
    j->write = (struct store_write){.apply = apply, .done = on_done, .bytes = bytes.length};
    j->ingest = i;
    (void)snprintf(j->host, sizeof(j->host), "%s", host);
    j->now = now;
    j->done = done;
    j->arg = arg;
    j->length = bytes.length;
    if (bytes.length > 0)
        memcpy(j->bytes, bytes.bytes, bytes.length);
    store_submit(i->store, &j->write);
    return ST_OK;
}
