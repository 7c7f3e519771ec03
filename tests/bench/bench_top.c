/* bench_top - how long a ranking over a million stored samples takes: collect, then rank.
 * Ten hosts of five services, five chunks of 10 s each, 20 000 samples a chunk; nothing is cached
 * between questions but what a running coordinator keeps. The floor, in the same run: a walk that
 * decodes the same chunks and adds up nothing. CPU time of the asking thread, median of rounds: the
 * machine is shared. */
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "coordinator/ingest/ingest.h"
#include "coordinator/query/flame.h"
#include "coordinator/query/rank.h"
#include "coordinator/store/records.h"
#include "tests/support/chunk_maker.h"

enum { HOSTS = 10, SERVICES = 5, CHUNKS = 5, ROUNDS = 9, LIMIT = 20 };
#define START (UINT64_C(1796040000) * NS_PER_S) /* 2026-11-30T12:00:00Z */
#define WINDOW_NS (UINT64_C(10) * NS_PER_S * CHUNKS)

static const struct chunk_shape shape = {
    .binaries = 40,
    .frames = 6000,
    .stacks = 4000,
    .depth = 30,
    .processes = 40,
    .threads = 200,
    .samples = 20000,
};

struct bench {
    char directory[64];
    struct store *store;
    struct ingest *ingest;
    struct symbol_cache *cache;
    sem_t woken;
    uint32_t waiting;
    const char *only; /* measure what has this in its name; "": all */
};

static void require(enum status st, const char *what)
{
    if (st == ST_OK)
        return;
    fprintf(stderr, "bench_top: %s: %s\n", what, status_text(st));
    exit(1);
}

static void on_wake(void *arg)
{
    struct bench *b = arg;

    (void)sem_post(&b->woken);
}

static void await(struct bench *b)
{
    while (b->waiting > 0) {
        (void)sem_wait(&b->woken);
        store_complete(b->store);
    }
}

/* ---- filling the store ---- */

struct record_write {
    struct store_write write;
    struct bench *bench;
    const struct profiler_record *record;
};

static enum status apply_record(struct store_write *w, struct store_txn *t)
{
    const struct profiler_record *r = ((struct record_write *)w)->record;
    struct wire_writer *writer;
    enum status st = wire_writer_new(1 << 16, &writer);

    if (st != ST_OK)
        return st;
    st = profiler_record_encode(r, writer);
    if (st == ST_OK)
        st = store_txn_put(t, STORE_PROFILERS, (struct slice){r->id.bytes, sizeof(r->id.bytes)},
                           wire_writer_bytes(writer));
    wire_writer_free(writer);
    return st;
}

static void on_record(struct store_write *w, enum status st)
{
    require(st, "profiler");
    ((struct record_write *)w)->bench->waiting--;
}

static void put_profiler(struct bench *b, const struct profiler_record *r)
{
    struct record_write w = {.write = {.apply = apply_record, .done = on_record, .bytes = 1024},
                             .bench = b,
                             .record = r};

    b->waiting++;
    store_submit(b->store, &w.write);
    await(b);
}

static void on_chunk(void *arg, const struct ingest_result *r)
{
    struct bench *b = arg;

    if (r->refusal != 0)
        fprintf(stderr, "bench_top: refused: %s\n", r->text);
    require(r->refusal != 0 ? ST_INVALID : r->status, "chunk");
    b->waiting--;
}

static void put_chunk(struct bench *b, const struct profiler_record *r, struct chunk *c,
                      uint64_t sequence)
{
    uint64_t length = c->info.end.ns - c->info.start.ns;
    struct blob packed;

    c->info.profiler = r->id;
    c->info.incarnation = r->incarnation;
    c->info.sequence = sequence;
    c->info.wall_start.ns = START + (sequence - 1) * length;
    c->info.clock_offset_ns = 0;
    require(chunk_encode(c, CHUNK_WIRE, &packed), "encode");
    b->waiting++;
    require(ingest_chunk(b->ingest, r->host, blob_slice(&packed), (struct wall){START + WINDOW_NS},
                         on_chunk, b),
            "ingest");
    await(b);
    blob_deinit(&packed);
}

static void fill(struct bench *b)
{
    for (unsigned host = 0; host < HOSTS; host++) {
        struct rng rng = rng_from(1 + host % SERVICES);
        struct chunk c = chunk_make(shape, &rng);
        struct profiler_record r = {.id = id128_random(),
                                    .incarnation = 1 + host,
                                    .event = c.info.event,
                                    .assigned = {START}};

        (void)snprintf(r.host, sizeof(r.host), "host-%u", host);
        put_profiler(b, &r);
        for (uint64_t sequence = 1; sequence <= CHUNKS; sequence++)
            put_chunk(b, &r, &c, sequence);
        chunk_deinit(&c);
    }
}

/* ---- questions ---- */

struct answer {
    uint64_t samples;
    uint32_t cells, rows;
};

static enum status decode_only(void *arg, const struct ledger_row *row, struct slice stored)
{
    struct answer *a = arg;
    struct chunk c;
    enum status st = chunk_decode(stored, CHUNK_STORED, &c, NULL);

    (void)row;
    if (st != ST_OK)
        return st;
    a->samples += c.samples.sample_count;
    chunk_deinit(&c);
    return ST_OK;
}

static void ask_floor(struct bench *b, struct store_view *v, struct answer *a)
{
    (void)b;
    require(store_view_chunks(v, (struct wall){START}, (struct wall){START + WINDOW_NS},
                              decode_only, a),
            "scan");
}

static struct profile collect(struct store_view *v)
{
    struct window w = {.from = {START}, .to = {START + WINDOW_NS}};
    char why[WINDOW_WHY_MAX];
    struct profile p;
    enum status st = profile_collect(v, &w, &p, why);

    require(st, st == ST_OK ? "" : why);
    return p;
}

static void ask_collect(struct bench *b, struct store_view *v, struct answer *a)
{
    struct profile p = collect(v);

    (void)b;
    a->samples = p.samples;
    a->cells = p.cell_count;
    profile_deinit(&p);
}

static void ask_rank(struct bench *b, struct store_view *v, struct answer *a, const char *by_text,
                     uint32_t limit)
{
    struct profile p = collect(v);
    enum rank_by by[RANK_DIMENSIONS_MAX];
    struct symbolizer *s;
    struct ranking r;
    uint32_t by_count;

    require(rank_by_parse(by_text, by, &by_count), by_text);
    require(symbolizer_new(b->cache, v, &s), "symbolizer");
    require(rank(&p, s, store_view_dictionary(v), by, by_count, limit, &r), "rank");
    a->samples = p.samples;
    a->cells = p.cell_count;
    a->rows = r.rows_found;
    ranking_deinit(&r);
    symbolizer_free(s);
    profile_deinit(&p);
}

static void ask_top(struct bench *b, struct store_view *v, struct answer *a)
{
    ask_rank(b, v, a, "function", LIMIT);
}

static void ask_all(struct bench *b, struct store_view *v, struct answer *a)
{
    ask_rank(b, v, a, "function", 0);
}

static void ask_hosts(struct bench *b, struct store_view *v, struct answer *a)
{
    ask_rank(b, v, a, "host,function", LIMIT);
}

static void ask_flame(struct bench *b, struct store_view *v, struct answer *a)
{
    struct profile p = collect(v);
    struct symbolizer *s;
    struct flame f;

    require(symbolizer_new(b->cache, v, &s), "symbolizer");
    require(flame_build(&p, NULL, s, store_view_dictionary(v), &f), "flame");
    a->samples = p.samples;
    a->rows = f.node_count;
    flame_deinit(&f);
    symbolizer_free(s);
    profile_deinit(&p);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double cpu_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure(struct bench *b, const char *name,
                    void (*ask)(struct bench *, struct store_view *, struct answer *))
{
    double seconds[ROUNDS];
    struct answer a = {0};

    if (strstr(name, b->only) == NULL)
        return;
    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_seconds();
        struct store_view *v;

        a = (struct answer){0};
        require(store_view_open(b->store, &v), "view");
        ask(b, v, &a);
        store_view_close(v);
        seconds[i] = cpu_seconds() - start;
    }
    qsort(seconds, ROUNDS, sizeof(seconds[0]), by_value);
    printf("  %-32s %8.2f ms  %9" PRIu64 " samples  %8u cells  %8u rows\n", name,
           seconds[ROUNDS / 2] * 1e3, a.samples, a.cells, a.rows);
}

int main(int argc, char **argv)
{
    struct bench b = {.directory = "/tmp/fleetprof-bench-XXXXXX", .only = argc > 1 ? argv[1] : ""};
    struct store_options options = {.directory = b.directory, .wake = on_wake, .arg = &b};
    char why[STORE_WHY_MAX], command[128];

    if (mkdtemp(b.directory) == NULL || sem_init(&b.woken, 0, 0) != 0)
        return 1;
    require(store_open(&options, &b.store, why), "store");
    require(ingest_new(b.store, NULL, &b.ingest), "ingest");
    require(symbol_cache_new(SYMBOL_CACHE_BYTES, &b.cache), "symbol cache");
    fill(&b);
    printf("%d hosts x %d chunks of %u samples, stacks of %u frames:\n", HOSTS, CHUNKS,
           shape.samples, shape.depth);
    measure(&b, "floor: decode the chunks", ask_floor);
    measure(&b, "collect", ask_collect);
    measure(&b, "collect + top 20 by function", ask_top);
    measure(&b, "collect + all rows by function", ask_all);
    measure(&b, "collect + top 20 by host,function", ask_hosts);
    measure(&b, "collect + flame graph", ask_flame);
    ingest_free(b.ingest);
    symbol_cache_free(b.cache);
    store_close(b.store);
    (void)sem_destroy(&b.woken);
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", b.directory);
    return system(command) == 0 ? 0 : 1; /* NOLINT: our own directory */
}
