/* bench_chunk - bytes per sample, and how fast chunks are written and read.
 * The chunk is what a busy host of 20 cores makes in 10 s at 99 Hz. Beside it, over the same plain
 * bytes: zstd alone, and memcpy. CPU time, median of rounds: the machine is shared. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/chunk.h"
#include "tests/support/chunk_maker.h"

enum { ROUNDS = 5 };
#define ROUND_NS (200 * NS_PER_MS)

static const struct chunk_shape shape = {
    .binaries = 40,
    .frames = 6000,
    .stacks = 2000,
    .depth = 30,
    .processes = 40,
    .threads = 200,
    .samples = 20000,
};

/* What the measured steps work on. */
struct subject {
    struct chunk chunk;
    enum chunk_form form;
    struct blob packed, plain;
    uint8_t *copy;
};

static void require(enum status st)
{
    if (st == ST_OK)
        return;
    fprintf(stderr, "bench_chunk: %s\n", status_text(st));
    exit(1);
}

static void encode(struct subject *s)
{
    struct blob b;

    require(chunk_encode(&s->chunk, s->form, &b));
    blob_deinit(&b);
}

static void decode(struct subject *s)
{
    struct chunk c;

    require(chunk_decode(blob_slice(&s->packed), s->form, &c, NULL));
    chunk_deinit(&c);
}

static void decode_info(struct subject *s)
{
    struct chunk_info info;

    require(chunk_decode_info(blob_slice(&s->packed), &info));
}

static void zstd_pack(struct subject *s)
{
    struct blob b;

    require(compress_blob(blob_slice(&s->plain), &b));
    blob_deinit(&b);
}

static void zstd_unpack(struct subject *s)
{
    struct blob b;

    require(decompress_blob(blob_slice(&s->packed), CHUNK_PLAIN_MAX, &b));
    blob_deinit(&b);
}

static void copy(struct subject *s)
{
    memcpy(s->copy, s->plain.bytes, s->plain.length);
    __asm__ volatile("" : : "r"(s->copy) : "memory"); /* the copy is wanted */
}

static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double l = *(const double *)a, r = *(const double *)b;

    return (l > r) - (l < r);
}

/* Seconds that one run takes. */
static double measure(void (*step)(struct subject *), struct subject *s)
{
    double seconds[ROUNDS];

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start = cpu_ns(), now = start;
        unsigned runs = 0;

        for (; now - start < ROUND_NS; now = cpu_ns(), runs++)
            step(s);
        seconds[i] = (double)(now - start) / (double)NS_PER_S / runs;
    }
    qsort(seconds, ROUNDS, sizeof(seconds[0]), compare_doubles);
    return seconds[ROUNDS / 2];
}

static void report(const char *name, void (*step)(struct subject *), struct subject *s)
{
    double seconds = measure(step, s);

    printf("  %-18s %9.3f ms  %8.2f M samples/s  %9.1f MB/s of plain bytes\n", name, seconds * 1e3,
           s->chunk.samples.sample_count / seconds / 1e6, (double)s->plain.length / seconds / 1e6);
}

static void run(const char *name, enum chunk_form form, struct subject *s)
{
    s->form = form;
    require(chunk_encode(&s->chunk, form, &s->packed));
    require(decompress_blob(blob_slice(&s->packed), CHUNK_PLAIN_MAX, &s->plain));
    s->copy = malloc(s->plain.length);
    if (s->copy == NULL)
        require(ST_NOMEM);

    printf("%s form: %zu bytes, %.2f a sample (%.2f before zstd)\n", name, s->packed.length,
           (double)s->packed.length / s->chunk.samples.sample_count,
           (double)s->plain.length / s->chunk.samples.sample_count);
    report("encode", encode, s);
    report("  floor: zstd", zstd_pack, s);
    report("decode", decode, s);
    report("decode info only", decode_info, s);
    report("  floor: zstd", zstd_unpack, s);
    report("  floor: memcpy", copy, s);

    free(s->copy);
    blob_deinit(&s->plain);
    blob_deinit(&s->packed);
}

int main(void)
{
    struct rng rng = rng_from(1);
    struct subject s = {.chunk = chunk_make(shape, &rng)};

    printf("chunk: %u samples, %u stacks of %u frames, %u nodes, %u groups, %u threads\n",
           shape.samples, shape.stacks, shape.depth, s.chunk.dictionary.node_count,
           s.chunk.samples.group_count, shape.threads);
    run("wire", CHUNK_WIRE, &s);
    run("stored", CHUNK_STORED, &s);
    chunk_deinit(&s.chunk);
    return 0;
}
