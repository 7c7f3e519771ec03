/* unwind_core: every rule, every end and every kind of damage, walked natively. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "bpf/unwind_world.h"
#include "tests/unit/agent/walk_cases.h"

static struct walk_case world;

static int read_stack(void *arg, __u64 address, void *to, __u32 bytes)
{
    const struct walk_case *c = arg;
    uint64_t start = (uint64_t)(uintptr_t)c->stack;

    assert_true(bytes <= sizeof(uint64_t) * UNWIND_WORDS);
    if (address < start || address - start > CASE_STACK_WORDS * sizeof(uint64_t) - bytes)
        return -1;
    memcpy(to, (const void *)(uintptr_t)address, bytes);
    return 0;
}

static const struct abi_page *find_page(void *arg, __u32 pid, __u32 page)
{
    const struct walk_case *c = arg;

    return pid == CASE_PID && page < c->page_count ? &c->pages[page] : NULL;
}

static const struct abi_shard *find_shard(void *arg, __u32 shard)
{
    const struct walk_case *c = arg;

    return shard == CASE_SHARD ? c->shard : NULL;
}

static void assert_walk(void (*build)(struct walk_case *c))
{
    struct unwind_world w = {
        .read = read_stack, .page = find_page, .shard = find_shard, .arg = &world};
    __u64 frames[ABI_FRAMES_MAX];
    struct unwound walk;

    walk_case_clear(&world);
    build(&world);
    walk = unwind_world_walk(&w, CASE_PID, &world.at, frames);
    assert_int_equal(walk.frames, world.frame_count);
    for (uint32_t i = 0; i < walk.frames; i++)
        assert_int_equal(frames[i], world.frames[i]);
    assert_int_equal(walk.end, world.end);
}

#define X(name)                           \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        assert_walk(name);                \
    }
WALK_CASE_LIST(X)
#undef X

static int make_world(void **state)
{
    (void)state;
    walk_case_init(&world);
    return 0;
}

static int drop_world(void **state)
{
    (void)state;
    walk_case_deinit(&world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define X(name) {#name, test_##name, NULL, NULL, NULL},
        WALK_CASE_LIST(X)
#undef X
    };

    return cmocka_run_group_tests(tests, make_world, drop_world);
}
