/* Flame graphs: levels merge by function, totals add up, and both sides of a change stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "coordinator/query/flame.h"
#include "tests/unit/query/history.h"

#define MS 1e6

static int set_up(void **state)
{
    *state = history_new();
    return 0;
}

static int tear_down(void **state)
{
    history_free(*state);
    return 0;
}

static void assert_near(double value, double wanted)
{
    if (!(fabs(value - wanted) <= 1))
        fail_msg("%.9g is not %.9g", value, wanted);
}

/* The node of a path of names from the root. */
static uint32_t node_of(struct history *h, const struct flame *f, const char *const *path,
                        uint32_t depth)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < depth; i++) {
        uint32_t found = 0;

        for (uint32_t n = 1; n < f->node_count; n++) {
            if (f->parent[n] == at &&
                strcmp(symbolizer_get(history_symbolizer(h), f->function[n])->name, path[i]) == 0) {
                assert_int_equal(found, 0); /* siblings are different functions */
                found = n;
            }
        }
        if (found == 0)
            fail_msg("there is no %s at level %u", path[i], i);
        at = found;
    }
    return at;
}
#define NODE(h, f, ...)                               \
    node_of(h, f, (const char *const[]){__VA_ARGS__}, \
            sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

static struct flame flame_of(struct history *h, bool two)
{
    struct profile a = history_collect(h, 0, 10, NULL), b = history_collect(h, 100, 110, NULL);
    struct flame f;

    assert_int_equal(
        flame_build(&a, two ? &b : NULL, history_symbolizer(h), history_dictionary(h), &f), ST_OK);
    profile_deinit(&a);
    profile_deinit(&b);
    return f;
}

static struct history_chunk chunk_at(struct history *h, double from)
{
    return (struct history_chunk){.profiler = history_profiler(h, "a", NULL, from, from + 10),
                                  .sequence = 1,
                                  .from = from,
                                  .to = from + 10};
}

static void addresses_of_a_function_merge_level_by_level(void **state)
{
    struct history *h = *state;
    struct flame f;

    SYMBOLS(h, "/b", {0x10, 0x10, "main"}, {0x20, 0x10, "work"}, {0x30, 0x10, "idle"});
    CHUNK(h, chunk_at(h, 0), {.leaf = STACK(h, "/b+0x11", "/b+0x21"), .count = 10},
          {.leaf = STACK(h, "/b+0x12", "/b+0x22"), .count = 20},
          {.leaf = STACK(h, "/b+0x12", "/b+0x31"), .count = 5},
          {.leaf = STACK(h, "/b+0x13"), .count = 1});
    f = flame_of(h, false);
    assert_int_equal(f.node_count, 4);
    assert_int_equal(f.function[0], UINT32_MAX);
    assert_near(f.total_a[0], 360 * MS);
    assert_near(f.self_a[NODE(h, &f, "main")], 10 * MS);
    assert_near(f.total_a[NODE(h, &f, "main")], 360 * MS);
    assert_near(f.self_a[NODE(h, &f, "main", "work")], 300 * MS);
    assert_near(f.self_a[NODE(h, &f, "main", "idle")], 50 * MS);
    assert_null(f.self_b);
    flame_deinit(&f);
}

static void recursion_is_drawn_level_by_level(void **state)
{
    struct history *h = *state;
    struct flame f;

    CHUNK(h, chunk_at(h, 0), {.leaf = STACK(h, "f", "f", "f"), .count = 10},
          {.leaf = STACK(h, "f"), .count = 1});
    f = flame_of(h, false);
    assert_int_equal(f.node_count, 4);
    assert_near(f.self_a[NODE(h, &f, "f", "f", "f")], 100 * MS);
    assert_near(f.self_a[NODE(h, &f, "f")], 10 * MS);
    assert_near(f.total_a[NODE(h, &f, "f")], 110 * MS);
    flame_deinit(&f);
}

static void parents_come_first_and_siblings_by_name(void **state)
{
    struct history *h = *state;
    struct flame f;

    CHUNK(h, chunk_at(h, 0), {.leaf = STACK(h, "main", "zeta", "b"), .count = 1},
          {.leaf = STACK(h, "main", "alpha", "c"), .count = 1},
          {.leaf = STACK(h, "main", "alpha", "a"), .count = 1},
          {.leaf = STACK(h, "[truncated]", "x"), .count = 1});
    f = flame_of(h, false);
    for (uint32_t n = 1; n < f.node_count; n++) {
        assert_true(f.parent[n] < n);
        for (uint32_t m = 1; m < n; m++) {
            if (f.parent[m] == f.parent[n])
                assert_true(strcmp(symbolizer_get(history_symbolizer(h), f.function[m])->name,
                                   symbolizer_get(history_symbolizer(h), f.function[n])->name) < 0);
        }
    }
    assert_int_equal(NODE(h, &f, "[truncated]"), 1);
    flame_deinit(&f);
}

static void vanished_and_new_paths_stay(void **state)
{
    struct history *h = *state;
    struct flame f;

    CHUNK(h, chunk_at(h, 0), {.leaf = STACK(h, "main", "old", "leaf"), .count = 10},
          {.leaf = STACK(h, "main", "same"), .count = 5});
    CHUNK(h, chunk_at(h, 100), {.leaf = STACK(h, "main", "new"), .count = 7},
          {.leaf = STACK(h, "main", "same"), .count = 6});
    f = flame_of(h, true);
    assert_near(f.self_a[NODE(h, &f, "main", "old", "leaf")], 100 * MS);
    assert_near(f.self_b[NODE(h, &f, "main", "old", "leaf")], 0);
    assert_near(f.self_b[NODE(h, &f, "main", "new")], 70 * MS);
    assert_near(f.self_a[NODE(h, &f, "main", "new")], 0);
    assert_near(f.total_a[NODE(h, &f, "main")], 150 * MS);
    assert_near(f.total_b[NODE(h, &f, "main")], 130 * MS);
    flame_deinit(&f);
}

static void an_empty_profile_is_a_root(void **state)
{
    struct flame f = flame_of(*state, false);

    assert_int_equal(f.node_count, 1);
    assert_near(f.total_a[0], 0);
    flame_deinit(&f);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(addresses_of_a_function_merge_level_by_level),
        CLAIM(recursion_is_drawn_level_by_level),
        CLAIM(parents_come_first_and_siblings_by_name),
        CLAIM(vanished_and_new_paths_stay),
        CLAIM(an_empty_profile_is_a_root),
    };

    return cmocka_run_group_tests_name("flame", tests, NULL, NULL);
}
