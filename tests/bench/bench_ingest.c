/* bench_ingest - chunks a second from packed bytes to durable and reported, over a real store.
 * Beside it, in the same run: a floor that only appends the same bytes to a file, with an fdatasync
 * after as many chunks as the store had in a commit. The directory is made in $TMPDIR, else
 * /var/tmp: a tmpfs would measure nothing.
 *
 * The chunks are what a service on four CPUs sends every 10 s. Two bounds: `new` chunks share no
 * content, as if every one were the first of another program; `known` ones come from a few services
 * whose strings, frames and stacks the store has seen. A fleet in its daily life is near `known`.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "coordinator/ingest/ingest.h"
#include "coordinator/store/records.h"
#include "tests/support/chunk_maker.h"

enum {
    CHUNKS = 1000, /* in each measurement */
    SERVICES = 32,
    RECORD_MAX = 1 << 16,
    PATH_BYTES = 256,
};
#define ASSIGNED (UINT64_C(1796040000) * NS_PER_S)
#define NOW (ASSIGNED + 3600 * NS_PER_S)
#define HOST "bench"

static const struct chunk_shape shape = {
    .binaries = 12,
    .frames = 900,
    .stacks = 150,
    .depth = 25,
    .processes = 2,
    .threads = 24,
    .samples = 1500,
};

struct offer { /* one chunk on its way */
    struct blob packed;
    uint64_t submitted_ns;
    double latency_ms;
};

struct bench {
    char directory[PATH_BYTES];
    struct store *store;
    struct ingest *ingest;
    sem_t woken;
    struct id128 profiler;
    uint64_t sequence; /* the last one made */
    struct offer offers[CHUNKS];
    uint32_t done;
};

static void require(enum status st, const char *what)
{
    if (st == ST_OK)
        return;
    fprintf(stderr, "bench_ingest: %s: %s\n", what, status_text(st));
    exit(1);
}

/* ---- the store ---- */

static void on_wake(void *arg)
{
    (void)sem_post(&((struct bench *)arg)->woken);
}

static void wait_for_writer(struct bench *b)
{
    (void)sem_wait(&b->woken);
    store_complete(b->store);
}

struct put {
    struct store_write write;
    const struct bench *bench;
    bool done;
};

static enum status put_profiler(struct store_write *w, struct store_txn *t)
{
    const struct bench *b = ((struct put *)w)->bench;
    const struct profiler_record r = {
        .id = b->profiler, .host = HOST, .event = EVENT_CPU, .assigned = {ASSIGNED}};
    struct wire_writer *bytes;
    enum status st = wire_writer_new(RECORD_MAX, &bytes);

    if (st != ST_OK)
        return st;
    st = profiler_record_encode(&r, bytes);
    if (st == ST_OK)
        st = store_txn_put(t, STORE_PROFILERS, (struct slice){r.id.bytes, ID128_BYTES},
                           wire_writer_bytes(bytes));
    wire_writer_free(bytes);
    return st;
}

static void on_put(struct store_write *w, enum status st)
{
    require(st, "profiler");
    ((struct put *)w)->done = true;
}

static void open_bench(struct bench *b)
{
    const char *parent = getenv("TMPDIR");
    struct store_options options = {.directory = b->directory, .wake = on_wake, .arg = b};
    struct put put = {.write = {.apply = put_profiler, .done = on_put}, .bench = b};
    char why[STORE_WHY_MAX] = "";

    (void)snprintf(b->directory, sizeof(b->directory), "%s/fleetprof-bench-XXXXXX",
                   parent != NULL ? parent : "/var/tmp");
    if (mkdtemp(b->directory) == NULL || sem_init(&b->woken, 0, 0) != 0)
        require(ST_IO, b->directory);
    require(store_open(&options, &b->store, why), why);
    require(ingest_new(b->store, NULL, &b->ingest), "ingest");
    b->profiler = id128_random();
    store_submit(b->store, &put.write);
    while (!put.done)
        wait_for_writer(b);
}

static void close_bench(struct bench *b)
{
    char command[PATH_BYTES + 16];

    store_close(b->store);
    ingest_free(b->ingest);
    (void)sem_destroy(&b->woken);
    (void)snprintf(command, sizeof(command), "rm -r '%s'", b->directory);
    if (system(command) != 0) /* NOLINT: our own directory */
        require(ST_IO, command);
}

/* ---- the chunks ---- */

static void pack(struct bench *b, struct chunk *c, struct offer *o)
{
    c->info.profiler = b->profiler;
    c->info.incarnation = 0;
    c->info.sequence = ++b->sequence;
    c->info.wall_start.ns = ASSIGNED + b->sequence * NS_PER_MS;
    c->info.clock_offset_ns = 0;
    blob_deinit(&o->packed);
    require(chunk_encode(c, CHUNK_WIRE, &o->packed), "encode");
}

static void make_new(struct bench *b, struct rng *rng)
{
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct chunk c = chunk_make(shape, rng);

        pack(b, &c, &b->offers[i]);
        chunk_deinit(&c);
    }
}

static void make_known(struct bench *b, const struct chunk services[SERVICES])
{
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct chunk c = services[i % SERVICES];

        pack(b, &c, &b->offers[i]);
    }
}

/* ---- the measurements ---- */

static uint64_t cpu_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void on_done(void *arg, const struct ingest_result *result)
{
    struct bench *b = arg;
    struct offer *o = &b->offers[b->done++]; /* reports come in order */

    if (result->refusal != 0)
        fprintf(stderr, "bench_ingest: %s\n", result->text);
    require(result->status, "chunk");
    o->latency_ms = (double)mono_since(clock_mono(), (struct mono){o->submitted_ns}) / 1e6;
}

/* All offers, with at most `window` of them unreported at any time. */
static void offer_all(struct bench *b, uint32_t window)
{
    b->done = 0;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        while (i - b->done >= window)
            wait_for_writer(b);
        b->offers[i].submitted_ns = clock_mono().ns;
        require(ingest_chunk(b->ingest, HOST, blob_slice(&b->offers[i].packed), (struct wall){NOW},
                             on_done, b),
                "ingest_chunk");
    }
    while (b->done < CHUNKS)
        wait_for_writer(b);
}

/* Seconds that appending the same bytes takes, `batch` chunks to an fdatasync. */
static double measure_floor(const struct bench *b, uint32_t batch)
{
    char path[PATH_BYTES + 8];
    struct mono start;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/floor", b->directory);
    fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        require(ST_IO, path);
    start = clock_mono();
    for (uint32_t i = 0; i < CHUNKS; i++) {
        const struct blob *p = &b->offers[i].packed;

        if (write(fd, p->bytes, p->length) != (ssize_t)p->length)
            require(ST_IO, path);
        if (((i + 1) % batch == 0 || i + 1 == CHUNKS) && fdatasync(fd) != 0)
            require(ST_IO, path);
    }
    (void)close(fd);
    return (double)mono_since(clock_mono(), start) / (double)NS_PER_S;
}

static int compare_latencies(const void *a, const void *b)
{
    double l = ((const struct offer *)a)->latency_ms, r = ((const struct offer *)b)->latency_ms;

    return (l > r) - (l < r);
}

static void print_rate(const char *name, double seconds, uint64_t bytes)
{
    printf("    %-7s %8.0f chunks/s  %6.2f M samples/s  %7.1f MB/s\n", name, CHUNKS / seconds,
           CHUNKS * (double)shape.samples / seconds / 1e6, (double)bytes / seconds / 1e6);
}

static uint64_t disk_bytes(const struct store_counters *n)
{
    return n->catalog_bytes + n->chunk_file_bytes;
}

static void run(struct bench *b, const char *name, uint32_t window)
{
    struct store_counters before = store_read_counters(b->store), after;
    uint64_t samples = ingest_read_counters(b->ingest).samples, bytes = 0, cpu = cpu_ns();
    struct mono start = clock_mono();
    double seconds, floor;
    uint32_t batch;

    offer_all(b, window);
    seconds = (double)mono_since(clock_mono(), start) / (double)NS_PER_S;
    cpu = cpu_ns() - cpu;
    after = store_read_counters(b->store);
    if (ingest_read_counters(b->ingest).samples - samples != (uint64_t)CHUNKS * shape.samples)
        require(ST_INVALID, "samples stored are not the samples offered");
    batch = (uint32_t)(CHUNKS / (after.commits - before.commits));
    floor = measure_floor(b, batch > 0 ? batch : 1);

    for (uint32_t i = 0; i < CHUNKS; i++)
        bytes += b->offers[i].packed.length;
    printf("  %s, %u unreported: %.1f KB a chunk, %u chunks a commit\n", name, window,
           (double)bytes / CHUNKS / 1e3, batch);
    print_rate("ingest", seconds, bytes);
    print_rate("floor", floor, bytes);
    qsort(b->offers, CHUNKS, sizeof(b->offers[0]), compare_latencies);
    printf("    %.2f x the floor's time, %.0f us of CPU a chunk, durable after %.1f ms (p50), "
           "%.1f ms (p99)\n",
           seconds / floor, (double)cpu / CHUNKS / 1e3, b->offers[CHUNKS / 2].latency_ms,
           b->offers[CHUNKS - CHUNKS / 100].latency_ms);
    printf("    the store's files grew by %.2f bytes a sample, its dictionary by %u nodes and %u "
           "strings\n",
           (double)(disk_bytes(&after) - disk_bytes(&before)) / CHUNKS / shape.samples,
           after.nodes - before.nodes, after.strings - before.strings);
}

int main(void)
{
    /* One agent's window; a small fleet; the most that a batch takes. */
    static const uint32_t windows[] = {8, 64, STORE_BATCH_WRITES};
    static struct bench b;
    struct chunk services[SERVICES];
    struct rng rng = rng_from(1);

    open_bench(&b);
    for (int i = 0; i < SERVICES; i++)
        services[i] = chunk_make(shape, &rng);
    printf("%u chunks of %u samples, %u stacks of %u frames\n", CHUNKS, shape.samples, shape.stacks,
           shape.depth);
    make_new(&b, &rng);
    run(&b, "new", STORE_BATCH_WRITES);
    make_known(&b, services);
    offer_all(&b, STORE_BATCH_WRITES);
    for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        make_known(&b, services);
        run(&b, "known", windows[i]);
    }
    for (int i = 0; i < SERVICES; i++)
        chunk_deinit(&services[i]);
    for (uint32_t i = 0; i < CHUNKS; i++)
        blob_deinit(&b.offers[i].packed);
    close_bench(&b);
    return 0;
}
