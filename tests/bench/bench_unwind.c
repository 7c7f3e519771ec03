/* bench_unwind - what the walk over a user stack costs in the kernel, by its own run statistics.
 * Test runs of the BPF walks over made-up stacks of 30 frames, one after the other: caches are hot.
 * Beside them the floor, a program that takes the registers and no step, and the peer,
 * bpf_get_stack over a real stack of 30 frame pointers. Best of the rounds: the machine is shared,
 * and what others add is not the walk's. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/agent/kernel_walk.h"

enum {
    EXIT_SKIPPED = 77,
    DEPTH = 30,
    ROUNDS = 9,
    RUNS = 2000, /* a round */
    PID = 4711,
    SHARD = 5,
    STACK_WORDS = 4096,
    TABLE_ROWS = 40000, /* a large library's */
    ROW_BYTES = 48, /* of code */
    LIBRARIES = 100, /* that the table's code is split among for the last shape */
};

#define TEXT 0x400000ull
#define JIT 0x100000000ull
#define JIT_END 0x100100000ull

enum shape { FRAME_POINTERS, TABLES, TABLES_AND_RBP, LIBRARY_EACH, SHAPES };

static const char *const shape_names[] = {
    [FRAME_POINTERS] = "frame pointers",
    [TABLES] = "tables, rbp unchanged",
    [TABLES_AND_RBP] = "tables, rbp saved in each",
    [LIBRARY_EACH] = "tables, each frame elsewhere",
};

static uint64_t stack[STACK_WORDS];
static struct abi_shard table;

/* Calls spread over the table as a walk through a large program's would be. */
static uint32_t row_of(uint32_t frame)
{
    return frame == DEPTH - 1 ? 0 : 1 + frame * 7919 % (TABLE_ROWS - 1);
}

static uint32_t words_of(uint32_t frame)
{
    return 4 + frame % 9;
}

static void make_table(struct kernel_walk *k, enum shape shape)
{
    for (uint32_t i = 0; i < ABI_SHARD_ROWS; i++)
        table.rows[i] = (struct abi_row){.pc = i * ROW_BYTES, .kind = ABI_ROW_UNSUPPORTED};
    table.rows[0].kind = ABI_ROW_ROOT;
    for (uint32_t i = 0; i + 1 < DEPTH; i++) {
        struct abi_row *row = &table.rows[row_of(i)];

        row->kind = ABI_ROW_RSP;
        row->cfa = (int16_t)(8 * words_of(i));
        row->rbp = shape == TABLES_AND_RBP ? (int8_t)(-2 - (int)(i % 3)) : 0;
    }
    kernel_walk_set_shard(k, SHARD, &table);
}

static uint64_t code_of(uint32_t frame, enum shape shape)
{
    if (shape == FRAME_POINTERS)
        return JIT + 16ull * (frame + 1);
    return TEXT + (uint64_t)row_of(frame) * ROW_BYTES + 8;
}

/* The innermost frame's registers. The outermost frame pointer is zero, its row the root. */
static struct abi_registers make_stack(enum shape shape)
{
    struct abi_registers at = {.ip = code_of(0, shape), .sp = (uint64_t)(uintptr_t)stack};
    uint32_t top = 0;

    at.bp = (uint64_t)(uintptr_t)&stack[words_of(0) - 2];
    for (uint32_t i = 0; i + 1 < DEPTH; i++) {
        top += words_of(i);
        stack[top - 1] = code_of(i + 1, shape);
        stack[top - 2] = i + 2 < DEPTH ? (uint64_t)(uintptr_t)&stack[top + words_of(i + 1) - 2] : 0;
    }
    return at;
}

/* `ranges` that share the table, and one without. */
static void make_process(struct kernel_walk *k, uint32_t ranges)
{
    struct abi_page page = {.ranges = ranges + 1};
    uint64_t bytes = (uint64_t)TABLE_ROWS / ranges * ROW_BYTES;

    for (uint32_t i = 0; i < ranges; i++)
        page.range[i] = (struct abi_range){.start = TEXT + i * bytes,
                                           .end = TEXT + (i + 1) * bytes,
                                           .base = TEXT,
                                           .shard = SHARD,
                                           .last = TABLE_ROWS,
                                           .rule = ABI_RANGE_ROWS};
    page.range[ranges] = (struct abi_range){.start = JIT, .end = JIT_END};
    kernel_walk_set_page(k, PID, 0, &page);
}

static uint32_t run(struct kernel_walk *k, const char *program, const struct abi_registers *at)
{
    uint32_t frames = 0;

    for (int i = 0; i < RUNS; i++)
        (void)kernel_walk_run(k, program, PID, at, &frames);
    return frames;
}

/* Runs at the end of `depth` calls, for whoever walks this very stack. */
__attribute__((noinline)) static uint32_t run_below(uint32_t depth, struct kernel_walk *k,
                                                    const char *program,
                                                    const struct abi_registers *at)
{
    uint32_t frames = depth == 0 ? run(k, program, at) : run_below(depth - 1, k, program, at);

    __asm__ volatile("" : "+r"(frames)); /* no tail call */
    return frames;
}

static double time_program(struct kernel_walk *k, const char *program,
                           const struct abi_registers *at, uint32_t depth, uint32_t *frames)
{
    double best = 1e9;

    for (int round = 0; round < ROUNDS; round++) {
        __u64 ns_before, ns, runs_before, runs;
        double each;

        kernel_walk_read_time(k, program, &ns_before, &runs_before);
        *frames = run_below(depth, k, program, at);
        kernel_walk_read_time(k, program, &ns, &runs);
        each = (double)(ns - ns_before) / (double)(runs - runs_before);
        if (runs > runs_before && each < best)
            best = each;
    }
    return best;
}

static void print_walk(const char *what, double ns, double floor_ns, uint32_t frames)
{
    printf("%-42s %7.0f ns, %3u frames: %4.0f ns each\n", what, ns, frames,
           (ns - floor_ns) / frames);
}

static void bench_walks(struct kernel_walk *k, const char *program, double floor_ns)
{
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        char what[64];
        struct abi_registers at;
        uint32_t frames;
        double ns;

        make_table(k, shape);
        make_process(k, shape == LIBRARY_EACH ? LIBRARIES : 1);
        at = make_stack(shape);
        ns = time_program(k, program, &at, 0, &frames);
        (void)snprintf(what, sizeof(what), "%s: %s", program, shape_names[shape]);
        print_walk(what, ns, floor_ns, frames);
    }
}

static bool bench(const char *program)
{
    const char *const programs[] = {program, "time_plain", "time_nothing", NULL};
    const struct abi_registers nowhere = {0};
    struct kernel_walk *k = kernel_walk_open(programs);
    uint32_t frames;
    double floor_ns, ns;

    if (k == NULL)
        return false;
    if (!kernel_walk_count_time(k)) {
        (void)fprintf(stderr, "skipped: the kernel keeps no run statistics for us\n");
        kernel_walk_close(k);
        return false;
    }
    printf("%s: %u instructions verified; loaded in %.0f ms with floor and peer\n", program,
           kernel_walk_instructions(k, program), kernel_walk_load_ms(k));
    floor_ns = time_program(k, "time_nothing", &nowhere, 0, &frames);
    printf("%-42s %7.0f ns\n", "floor: no step", floor_ns);
    ns = time_program(k, "time_plain", &nowhere, DEPTH - 7, &frames);
    print_walk("peer: bpf_get_stack, frame pointers", ns, floor_ns, frames);
    bench_walks(k, program, floor_ns);
    kernel_walk_close(k);
    return true;
}

int main(void)
{
    bool fast = bench("time_fast");
    bool compat = bench("time_compat");

    return fast || compat ? 0 : EXIT_SKIPPED;
}
