/* The walks of the BPF programs: every made-up world that unwind_core is tested on natively, walked
 * by the kernel, with bpf_loop and without. And what the verifier says of their size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/agent/kernel_walk.h"
#include "tests/unit/agent/walk_cases.h"

/* The kernel's own limit is a million, before 5.2 a tenth of that; what is verified takes time. */
enum { EXIT_SKIPPED = 77, INSTRUCTIONS_MAX = 200 * 1000 };

static struct walk_case world;
static struct kernel_walk *kernel;
static const char *program;

static void put_world_in_maps(void)
{
    for (uint32_t i = 0; i < CASE_PAGES; i++) {
        if (i < world.page_count)
            kernel_walk_set_page(kernel, CASE_PID, i, &world.pages[i]);
        else
            kernel_walk_drop_page(kernel, CASE_PID, i);
    }
    kernel_walk_set_shard(kernel, CASE_SHARD, world.shard);
}

static void assert_walk(void (*build)(struct walk_case *c))
{
    const __u64 *frames = kernel_walk_frames(kernel);
    enum walk_end end;
    __u32 count;

    walk_case_clear(&world);
    build(&world);
    put_world_in_maps();
    end = kernel_walk_run(kernel, program, CASE_PID, &world.at, &count);
    assert_int_equal(count, world.frame_count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(frames[i], world.frames[i]);
    assert_int_equal(end, world.end);
}

#define X(name)                           \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        assert_walk(name);                \
    }
WALK_CASE_LIST(X)
#undef X

static void its_program_stays_within_the_verifiers_budget(void **state)
{
    uint32_t instructions = kernel_walk_instructions(kernel, program);

    (void)state;
    print_message("%s: %u instructions verified, loaded in %.0f ms\n", program, instructions,
                  kernel_walk_load_ms(kernel));
    assert_true(instructions <= INSTRUCTIONS_MAX);
}

/* Failures; -1: the program cannot be loaded. */
static int run_tests_of(const char *name)
{
    const struct CMUnitTest tests[] = {
#define X(name) {#name, test_##name, NULL, NULL, NULL},
        WALK_CASE_LIST(X)
#undef X
            cmocka_unit_test(its_program_stays_within_the_verifiers_budget),
    };
    const char *const programs[] = {name, NULL};
    int failed;

    program = name;
    kernel = kernel_walk_open(programs);
    if (kernel == NULL)
        return -1;
    walk_case_init(&world);
    failed = cmocka_run_group_tests_name(name, tests, NULL, NULL);
    walk_case_deinit(&world);
    kernel_walk_close(kernel);
    return failed;
}

/* A kernel without bpf_loop still has the other. */
int main(void)
{
    int compat = run_tests_of("walk_compat");
    int fast = run_tests_of("walk_fast");

    if (compat < 0 && fast < 0)
        return EXIT_SKIPPED;
    return compat > 0 || fast > 0;
}
