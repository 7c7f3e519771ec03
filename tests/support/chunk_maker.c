#include "tests/support/chunk_maker.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 64, CALLEES = 3, STRINGS = 512 };

static void *rows(uint32_t count, size_t bytes)
{
    void *p = calloc(count > 0 ? count : 1, bytes);

    if (p == NULL)
        abort();
    return p;
}

/* Skewed: low numbers are much more likely, as with hot frames and busy threads. */
static uint32_t skewed(struct rng *rng, uint32_t limit)
{
    uint32_t cap = 1 + rng_below(rng, limit);

    return rng_below(rng, 1 + rng_below(rng, cap));
}

static void make_info(struct chunk_info *info, uint32_t samples, struct rng *rng)
{
    uint64_t start = rng_u64(rng) >> 8;

    for (unsigned i = 0; i < ID128_BYTES; i++)
        info->profiler.bytes[i] = (uint8_t)(1 + rng_below(rng, 255));
    info->sequence = 1 + rng_below(rng, 1000);
    info->incarnation = rng_u64(rng);
    info->final = rng_below(rng, 2);
    info->start.ns = start;
    info->end.ns = start + 10 * NS_PER_S;
    info->wall_start.ns = UINT64_C(1700000000) * NS_PER_S + rng_u64(rng) % NS_PER_S;
    info->clock_offset_ns = (int64_t)rng_below(rng, 2000000) - 1000000;
    info->event = EVENT_CPU;
    info->period_ns = NS_PER_S / 99;
    info->inclusion = 1.0 / (1 + rng_below(rng, 4));
    info->cpus = 1 + samples / 990 + rng_below(rng, 64); /* enough to take them in 10 s */
    info->ledger = (struct ledger){
        .expected = samples + 100, .delivered = samples, .idle = 97, .lost = {[LOSS_RING] = 3}};
    info->cost = (struct agent_cost){.user_ns = rng_u64(rng) >> 30, .bpf_runs = samples};
}

static void make_strings(struct chunk_dictionary *d, struct rng *rng)
{
    char *next = d->text = rows(STRINGS, TEXT_MAX);

    d->strings = rows(STRINGS, sizeof(*d->strings));
    for (; d->string_count < STRINGS; d->string_count++) {
        d->strings[d->string_count] = next;
        next += 1 + snprintf(next, TEXT_MAX, "/usr/lib/gr\xc3\xbc\xc3\x9f/lib%x-%u.so",
                             rng_below(rng, 1 << 20), d->string_count);
    }
}

static void make_binaries(struct chunk_dictionary *d, uint32_t count, struct rng *rng)
{
    d->binaries = rows(count, sizeof(*d->binaries));
    d->binary_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct chunk_binary *b = &d->binaries[i];

        b->path = rng_below(rng, 10) > 0 ? rng_below(rng, STRINGS) : CHUNK_NO_PARENT;
        b->id.length = rng_below(rng, 10) > 0 ? 20 : (uint8_t)rng_below(rng, BUILD_ID_BYTES + 1);
        for (uint8_t k = 0; k < b->id.length; k++)
            b->id.bytes[k] = (uint8_t)rng_u64(rng);
    }
}

/* By binary, offsets ascending; the last few are named or marks. */
static void make_frames(struct chunk_dictionary *d, uint32_t count, struct rng *rng)
{
    uint32_t native = d->binary_count > 0 ? count - count / 16 : 0;
    uint64_t offset = 0;

    d->frames = rows(count, sizeof(*d->frames));
    d->frame_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct chunk_frame *f = &d->frames[i];
        uint32_t binary = i < native ? (uint32_t)((uint64_t)i * d->binary_count / native) : 0;

        if (i >= native) {
            *f = (struct chunk_frame){.kind = i % 2 ? FRAME_NAMED : FRAME_MARK,
                                      .binary = CHUNK_NO_PARENT,
                                      .name = rng_below(rng, STRINGS)};
            continue;
        }
        if (i > 0 && binary != f[-1].binary)
            offset = 0;
        offset += 5 + skewed(rng, 20000);
        *f = (struct chunk_frame){.kind = binary == 0 ? FRAME_KERNEL : FRAME_NATIVE,
                                  .binary = binary,
                                  .name = CHUNK_NO_PARENT,
                                  .offset = offset};
    }
}

/* A frame calls the same few others every time, the first most often. */
static uint32_t callee(uint32_t frame, uint32_t which, uint32_t frames)
{
    struct rng rng = rng_from(UINT64_C(7919) * frame + which);

    (void)rng_u64(&rng);
    return rng_below(&rng, frames);
}

static void make_stack(uint32_t *stack, uint32_t depth, uint32_t frames, struct rng *rng)
{
    stack[0] = rng_below(rng, frames < 4 ? frames : 4);
    for (uint32_t i = 1; i < depth; i++) {
        uint32_t which = rng_below(rng, 8) > 1 ? 0 : 1 + rng_below(rng, CALLEES - 1);

        stack[i] = callee(stack[i - 1], which, frames);
    }
}

static int compare_stacks(const void *a, const void *b, void *depth)
{
    const uint32_t *left = a, *right = b;

    for (uint32_t i = 0; i < *(uint32_t *)depth; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

/* Sorted stacks walk the tree depth first: each adds nodes below what it shares with the last.
 * Returns each stack's leaf. */
static uint32_t *make_nodes(struct chunk_dictionary *d, uint32_t stacks, uint32_t depth,
                            struct rng *rng)
{
    uint32_t *all = rows(stacks * depth, sizeof(*all)), *path = rows(depth, sizeof(*path));
    uint32_t *leaves = rows(stacks, sizeof(*leaves));

    for (uint32_t s = 0; s < stacks; s++)
        make_stack(all + (size_t)s * depth, depth, d->frame_count, rng);
    qsort_r(all, stacks, depth * sizeof(*all), compare_stacks, &depth);

    d->nodes = rows(stacks * depth, sizeof(*d->nodes));
    for (uint32_t s = 0; s < stacks; s++) {
        const uint32_t *stack = all + (size_t)s * depth;
        uint32_t i = 0;

        while (s > 0 && i < depth && stack[i] == stack[(int64_t)i - depth])
            i++;
        for (; i < depth; i++) {
            path[i] = d->node_count;
            d->nodes[d->node_count++] =
                (struct chunk_node){i > 0 ? path[i - 1] : CHUNK_NO_PARENT, stack[i]};
        }
        leaves[s] = path[depth - 1];
    }
    free(path);
    free(all);
    return leaves;
}

static void make_processes(struct chunk_samples *s, struct chunk_shape shape, struct rng *rng)
{
    uint64_t started = 0;

    s->labels = rows(4 * shape.processes, sizeof(*s->labels));
    s->processes = rows(shape.processes, sizeof(*s->processes));
    s->process_count = shape.processes;
    for (uint32_t i = 0; i < shape.processes; i++) {
        struct chunk_process *p = &s->processes[i];

        started += rng_u64(rng) >> 30;
        *p = (struct chunk_process){.pid = 100 + i * 7 + rng_below(rng, 7),
                                    .comm = rng_below(rng, STRINGS),
                                    .start_ns = started,
                                    .first_label = s->label_count,
                                    .label_count = rng_below(rng, 4)};
        for (uint32_t k = 0; k < p->label_count; k++)
            s->labels[s->label_count++] = (struct chunk_label){k, rng_below(rng, STRINGS)};
    }
    s->threads = rows(shape.threads, sizeof(*s->threads));
    s->thread_count = shape.threads;
    for (uint32_t i = 0; i < shape.threads; i++)
        s->threads[i] = (struct chunk_thread){
            .process = (uint32_t)((uint64_t)i * shape.processes / shape.threads),
            .tid = 100 + i * 3,
            .name = rng_below(rng, 8) > 0 ? rng_below(rng, STRINGS) : CHUNK_NO_PARENT};
}

struct sample {
    uint32_t thread, leaf, tick;
};

static int compare_samples(const void *a, const void *b)
{
    const struct sample *l = a, *r = b;

    if (l->thread != r->thread)
        return l->thread < r->thread ? -1 : 1;
    if (l->leaf != r->leaf)
        return l->leaf < r->leaf ? -1 : 1;
    return (l->tick > r->tick) - (l->tick < r->tick);
}

static void make_samples(struct chunk_samples *s, const uint32_t *leaves, struct chunk_shape shape,
                         struct rng *rng)
{
    struct sample *all = rows(shape.samples, sizeof(*all));
    struct chunk_group *g;

    for (uint32_t i = 0; i < shape.samples; i++) {
        all[i].thread = skewed(rng, shape.threads);
        all[i].leaf = leaves[(all[i].thread * 31 + skewed(rng, 64)) % shape.stacks];
        all[i].tick = rng_below(rng, 990) * 101 + rng_below(rng, 3); /* 99 Hz and its jitter */
    }
    qsort(all, shape.samples, sizeof(*all), compare_samples);

    s->groups = rows(shape.samples, sizeof(*s->groups));
    s->ticks = rows(shape.samples, sizeof(*s->ticks));
    for (uint32_t i = 0; i < shape.samples; i++) {
        if (i == 0 || all[i].thread != all[i - 1].thread || all[i].leaf != all[i - 1].leaf)
            s->groups[s->group_count++] = (struct chunk_group){all[i].leaf, all[i].thread, 0};
        g = &s->groups[s->group_count - 1];
        g->count++;
        s->ticks[s->sample_count++] = all[i].tick;
    }
    free(all);
}

struct chunk chunk_make(struct chunk_shape shape, struct rng *rng)
{
    struct chunk c = {0};
    uint32_t *leaves;

    make_info(&c.info, shape.samples, rng);
    make_strings(&c.dictionary, rng);
    make_binaries(&c.dictionary, shape.binaries, rng);
    make_frames(&c.dictionary, shape.frames, rng);
    leaves = make_nodes(&c.dictionary, shape.stacks, shape.depth, rng);
    make_processes(&c.samples, shape, rng);
    make_samples(&c.samples, leaves, shape, rng);
    free(leaves);
    return c;
}
