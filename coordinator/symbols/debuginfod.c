#include "coordinator/symbols/debuginfod.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "coordinator/symbols/docket.h"
#include "coordinator/symbols/download.h"
#include "coordinator/symbols/reader.h"

enum { BATCH_MAX = 64, PATH_BYTES_MAX = 4096 };

struct job { /* the one binary that is asked for */
    struct work work;
    struct debuginfod *owner;
    struct build_id id;
    bool busy;
    enum status status;
    unsigned server; /* that had it */
    struct blob packed;
};

struct counters {
#define X(name, help) uint64_t name;
    DEBUGINFOD_COUNTER_LIST(X)
#undef X
};

struct debuginfod {
    struct debuginfod_options options;
    struct docket *docket;
    struct build_id batch[BATCH_MAX]; /* candidates, the next one last */
    uint32_t batch_count;
    uint32_t cursor; /* ingest_poor_symbols' */
    struct mono now, quiet_until;
    struct wall wall;
    struct job job;
    atomic_bool stop;
    struct counters counters;
};

/* ---- fetching: a worker ---- */

static enum status scratch_file(const char *directory, int *out)
{
    char path[PATH_BYTES_MAX];
    int length = snprintf(path, sizeof(path), "%s/debuginfod.XXXXXX", directory);
    int fd;

    if (length < 0 || (size_t)length >= sizeof(path))
        return ST_TOO_BIG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return ST_IO;
    unlink(path);
    *out = fd;
    return ST_OK;
}

static enum status fetch_by_http(const struct debuginfod_order *order, struct blob *out)
{
    enum status st;
    int fd;

    if (scratch_file(order->directory, &fd) != ST_OK)
        return ST_IO;
    st = download_debuginfo(order->url, &order->id, order->bytes_max, order->stop, fd);
    if (st == ST_OK)
        st = reader_run(fd, &order->id, order->stop, out);
    close(fd);
    return st;
}

static bool is_refusal(enum status st)
{
    return st == ST_INVALID || st == ST_TOO_BIG;
}

/* Of two answers the one that says more about asking again: a failure, a refusal, nothing. */
static enum status graver(enum status a, enum status b)
{
    if (b == ST_NOT_FOUND || (is_refusal(b) && a != ST_NOT_FOUND))
        return a;
    return b;
}

static void run(struct work *w)
{
    struct job *j = (struct job *)w; /* its first member */
    struct debuginfod *d = j->owner;
    const struct debuginfod_options *o = &d->options;

    j->status = ST_NOT_FOUND;
    for (unsigned i = 0; i < o->urls->count && !atomic_load(&d->stop); i++) {
        const struct debuginfod_order order = {.url = o->urls->items[i],
                                               .id = j->id,
                                               .bytes_max = o->bytes_max,
                                               .directory = o->directory,
                                               .stop = &d->stop};
        enum status st = o->fetch(&order, &j->packed);

        j->server = i;
        j->status = st == ST_OK ? st : graver(j->status, st);
        if (st == ST_OK)
            return;
    }
}

/* ---- what came of it: the loop ---- */

static void finish(struct debuginfod *d, enum status st)
{
    struct counters *n = &d->counters;
    uint64_t rest_ns = DEBUGINFOD_NEGATIVE_NS;
    char text[BUILD_ID_TEXT_MAX];

    if (st == ST_OK)
        n->fetched++;
    else if (st == ST_EXISTS)
        n->not_better++;
    else if (st == ST_NOT_FOUND)
        n->not_found++;
    else if (is_refusal(st) || st == ST_UNSUPPORTED)
        n->refused++;
    else {
        n->failed++;
        rest_ns = DEBUGINFOD_RETRY_NS;
        d->quiet_until = mono_after(d->now, DEBUGINFOD_PAUSE_NS);
    }
    docket_rest(d->docket, &d->job.id, mono_after(d->now, rest_ns));
    log_info("event=debuginfod build_id=%s outcome=\"%s\"", build_id_format(&d->job.id, text),
             st == ST_OK ? "stored" : status_text(st));
    blob_deinit(&d->job.packed);
    d->job.packed = (struct blob){0};
    d->job.busy = false;
}

static void on_stored(void *arg, const struct symbols_result *result)
{
    finish(arg, result->status);
}

static void on_fetched(struct work *w)
{
    struct debuginfod *d = ((struct job *)w)->owner;
    const struct symbols_source source = {.origin = SYMBOL_FROM_DEBUGINFOD,
                                          .from = d->options.urls->items[d->job.server],
                                          .name = "",
                                          .now = d->wall};
    const struct symbols_part whole = {
        .id = d->job.id, .part = 0, .parts = 1, .bytes = blob_slice(&d->job.packed)};
    enum status st = d->job.status;

    if (st == ST_OK && atomic_load(&d->stop))
        st = ST_CLOSED;
    if (st == ST_OK)
        st = ingest_symbols(d->options.ingest, &source, &whole, on_stored, d);
    if (st != ST_OK)
        finish(d, st);
}

/* ---- whom to ask for ---- */

/* The next candidate that may be asked for; those that may not are passed over. */
static bool next_due(struct debuginfod *d, struct build_id *out)
{
    const struct debuginfod_options *o = &d->options;

    if (d->batch_count == 0)
        d->batch_count = ingest_poor_symbols(o->ingest, &d->cursor, d->batch, BATCH_MAX);
    while (d->batch_count > 0) {
        const struct build_id *id = &d->batch[--d->batch_count];

        if (!docket_is_due(d->docket, id, d->now, DEBUGINFOD_GRACE_NS) || o->expected(o->arg, id))
            continue;
        *out = *id;
        return true;
    }
    return false;
}

void debuginfod_tick(struct debuginfod *d, struct mono now, struct wall wall)
{
    if (d == NULL || d->options.urls->count == 0)
        return;
    d->now = now;
    d->wall = wall;
    if (d->job.busy || atomic_load(&d->stop) || !mono_reached(now, d->quiet_until) ||
        !next_due(d, &d->job.id))
        return;
    d->job.busy = true;
    d->job.work = (struct work){.run = run, .done = on_fetched};
    d->counters.asked++;
    d->options.workers.submit(d->options.workers.arg, &d->job.work);
}

/* ---- the beginning and the end ---- */

enum status debuginfod_new(const struct debuginfod_options *options, struct debuginfod **out)
{
    struct debuginfod *d = calloc(1, sizeof(*d));
    enum status st = d != NULL ? download_setup() : ST_NOMEM;

    if (st == ST_OK)
        st = docket_new(&d->docket);
    if (st != ST_OK) {
        debuginfod_free(d);
        return st;
    }
    d->options = *options;
    if (d->options.fetch == NULL)
        d->options.fetch = fetch_by_http;
    d->job.owner = d;
    *out = d;
    return ST_OK;
}

void debuginfod_free(struct debuginfod *d)
{
    if (d == NULL)
        return;
    docket_free(d->docket);
    free(d);
}

void debuginfod_stop(struct debuginfod *d)
{
    if (d != NULL)
        atomic_store(&d->stop, true);
}

void debuginfod_counters(const struct debuginfod *d,
                         void (*visit)(void *to, const char *name, uint64_t value), void *to)
{
    if (d == NULL)
        return;
#define X(name, help) visit(to, "debuginfod_" #name, d->counters.name);
    DEBUGINFOD_COUNTER_LIST(X)
#undef X
}
