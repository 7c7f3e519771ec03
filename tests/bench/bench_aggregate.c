/* bench_aggregate - what a sample costs the agent between its stack and its chunk: CPU time to add
 * it, to take the window, and bytes on the wire.
 * The samples are those of bench_chunk's busy host, in the order of their times. Beside the bytes:
 * those of the same samples as the maker laid them out, its tables sorted from the start. CPU time,
 * median of rounds: the machine is shared. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/aggregate.h"
#include "tests/support/chunk_maker.h"

enum { ROUNDS = 9 };

static const struct chunk_shape shape = {
    .binaries = 40,
    .frames = 6000,
    .stacks = 2000,
    .depth = 30,
    .processes = 40,
    .threads = 200,
    .samples = 20000,
};

struct feed { /* samples in the order of their times */
    struct resolved_sample *samples;
    struct resolved_frame *frames; /* `depth` a sample */
    uint32_t count;
};

static void require(enum status st)
{
    if (st == ST_OK)
        return;
    fprintf(stderr, "bench_aggregate: %s\n", status_text(st));
    exit(1);
}

static const char *text_of(const struct chunk *c, uint32_t string)
{
    return string != CHUNK_NO_PARENT ? c->dictionary.strings[string] : NULL;
}

static struct resolved_frame frame_of(const struct chunk *c, uint32_t number)
{
    const struct chunk_frame *f = &c->dictionary.frames[number];
    struct resolved_frame r = {.kind = f->kind, .offset = f->offset};

    r.name = text_of(c, f->name);
    if (f->binary != CHUNK_NO_PARENT) {
        r.binary = &c->dictionary.binaries[f->binary].id;
        r.path = text_of(c, c->dictionary.binaries[f->binary].path);
    }
    return r;
}

static struct resolved_sample sample_of(const struct chunk *c, const struct chunk_group *g,
                                        uint32_t tick, struct resolved_frame *frames)
{
    const struct chunk_thread *t = &c->samples.threads[g->thread];
    const struct chunk_process *p = &c->samples.processes[t->process];
    uint32_t node = g->leaf;

    for (uint32_t i = shape.depth; i-- > 0; node = c->dictionary.nodes[node].parent)
        frames[i] = frame_of(c, c->dictionary.nodes[node].frame);
    return (struct resolved_sample){
        .time = mono_after(c->info.start, (uint64_t)tick * CHUNK_TICK_NS),
        .pid = p->pid,
        .tid = t->tid,
        .process_serial = t->process,
        .process_start_ns = p->start_ns,
        .comm = text_of(c, p->comm),
        .thread_name = text_of(c, t->name),
        .frames = frames,
        .frame_count = shape.depth,
    };
}

static int compare_times(const void *a, const void *b)
{
    uint64_t l = ((const struct resolved_sample *)a)->time.ns;
    uint64_t r = ((const struct resolved_sample *)b)->time.ns;

    return (l > r) - (l < r);
}

static struct feed make_feed(const struct chunk *c)
{
    struct feed f = {calloc(shape.samples, sizeof(*f.samples)),
                     calloc((size_t)shape.samples * shape.depth, sizeof(*f.frames)), 0};

    if (f.samples == NULL || f.frames == NULL)
        require(ST_NOMEM);
    for (uint32_t i = 0; i < c->samples.group_count; i++)
        for (uint32_t k = 0; k < c->samples.groups[i].count; k++, f.count++)
            f.samples[f.count] = sample_of(c, &c->samples.groups[i], c->samples.ticks[f.count],
                                           f.frames + (size_t)f.count * shape.depth);
    qsort(f.samples, f.count, sizeof(*f.samples), compare_times);
    return f;
}

static double cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / (double)NS_PER_S;
}

static int compare_doubles(const void *a, const void *b)
{
    double l = *(const double *)a, r = *(const double *)b;

    return (l > r) - (l < r);
}

static double median(double seconds[ROUNDS])
{
    qsort(seconds, ROUNDS, sizeof(seconds[0]), compare_doubles);
    return seconds[ROUNDS / 2];
}

static size_t packed_bytes(const struct chunk *c)
{
    struct blob b;
    size_t length;

    require(chunk_encode(c, CHUNK_WIRE, &b));
    length = b.length;
    blob_deinit(&b);
    return length;
}

/* One window; returns its bytes. */
static size_t run(const struct chunk *made, const struct feed *f, double *add_s, double *take_s)
{
    struct chunk c = {.info = made->info};
    struct aggregate *a;
    double start = cpu_s();
    size_t bytes;

    require(aggregate_new(&a));
    for (uint32_t i = 0; i < f->count; i++)
        require(aggregate_add(a, &f->samples[i]));
    *add_s = cpu_s() - start;
    require(aggregate_take(a, c.info.start, c.info.end, &c));
    *take_s = cpu_s() - start - *add_s;
    bytes = packed_bytes(&c);
    chunk_deinit(&c);
    aggregate_free(a);
    return bytes;
}

int main(void)
{
    struct rng rng = rng_from(1);
    struct chunk made = chunk_make(shape, &rng);
    struct feed f = make_feed(&made);
    double add_s[ROUNDS], take_s[ROUNDS], samples;
    size_t bytes = 0;

    made.samples.label_count = 0; /* samples carry none here */
    for (uint32_t i = 0; i < made.samples.process_count; i++)
        made.samples.processes[i].first_label = made.samples.processes[i].label_count = 0;
    for (unsigned i = 0; i < ROUNDS; i++)
        bytes = run(&made, &f, &add_s[i], &take_s[i]);

    samples = f.count;
    printf("window: %u samples of %u frames\n", f.count, shape.depth);
    printf("  add   %8.0f ns a sample\n", median(add_s) / samples * 1e9);
    printf("  take  %8.0f ns a sample\n", median(take_s) / samples * 1e9);
    printf("  %.2f bytes a sample; %.2f as the maker laid them out\n", (double)bytes / samples,
           (double)packed_bytes(&made) / samples);

    free(f.samples);
    free(f.frames);
    chunk_deinit(&made);
    return 0;
}
