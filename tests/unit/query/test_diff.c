/* Differences: what was planted is found with its sign and size, the rest is called noise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "coordinator/query/diff.h"
#include "tests/unit/query/history.h"
#include "tests/unit/query/simulate.h"

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

static void assert_near(double value, double wanted, double tolerance)
{
    if (!(fabs(value - wanted) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", value, tolerance, wanted);
}

/* Before: seconds 0 to 30. After: seconds 100 to 130. */
static struct diff before_and_after(struct history *h, const char *by_text, uint32_t limit)
{
    struct profile a = history_collect(h, 0, 30, NULL), b = history_collect(h, 100, 130, NULL);
    enum rank_by by[RANK_DIMENSIONS_MAX];
    struct diff d;
    uint32_t count;

    assert_int_equal(rank_by_parse(by_text, by, &count), ST_OK);
    assert_int_equal(
        diff_profiles(&a, &b, history_symbolizer(h), history_dictionary(h), by, count, limit, &d),
        ST_OK);
    profile_deinit(&a);
    profile_deinit(&b);
    return d;
}

static const struct diff_row *row_of(const struct diff *d, const char *name)
{
    for (uint32_t i = 0; i < d->row_count; i++) {
        if (strcmp(d->rows[i].key[0], name) == 0)
            return &d->rows[i];
    }
    fail_msg("there is no row %s", name);
    return NULL;
}

struct load { /* a function's samples a second, before and after */
    uint32_t leaf;
    double before, after;
};

/* 30 chunks of 1 s on either side, with a random number of samples in each. */
static void run_load(struct history *h, const struct load *loads, uint32_t count, uint64_t seed)
{
    struct id128 profiler = history_profiler(h, "a", NULL, 0, 130);
    struct random r = {.state = seed};
    uint64_t sequence = 1;

    for (int second = 0; second < 130; second++) {
        struct history_group groups[16];
        struct history_chunk c = {
            .profiler = profiler, .from = second, .to = second + 1, .hz = 1000, .groups = groups};

        if (second >= 30 && second < 100)
            continue;
        c.sequence = sequence++;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t n = random_poisson(&r, second < 30 ? loads[i].before : loads[i].after);

            if (n > 0)
                groups[c.group_count++] = (struct history_group){.leaf = loads[i].leaf, .count = n};
        }
        history_chunk(h, &c);
    }
}

static void a_doubled_function_is_found_with_its_size(void **state)
{
    struct history *h = *state;
    const struct load loads[] = {{STACK(h, "main", "same"), 300, 300},
                                 {STACK(h, "main", "doubled"), 50, 100},
                                 {STACK(h, "main", "steady"), 60, 60}};
    const struct diff_row *row;
    struct diff d;

    run_load(h, loads, 3, 1);
    d = before_and_after(h, "function", 0);
    assert_string_equal(d.rows[0].key[0], "doubled");
    row = &d.rows[0];
    assert_int_equal(row->verdict, DIFF_MORE);
    assert_near(row->cores_delta, 0.05, 0.01);
    assert_true(row->cores_delta_low < 0.05 && 0.05 < row->cores_delta_high);
    assert_true(row->cores_delta_low > 0);
    assert_true(row->share_delta > 0);
    assert_true(row->p_value < 1e-6);
    assert_int_equal(row_of(&d, "same")->verdict, DIFF_NOISE);
    assert_int_equal(row_of(&d, "steady")->verdict, DIFF_NOISE);
    assert_true(row_of(&d, "same")->share_delta < 0); /* its share shrank, its cores did not */
    diff_deinit(&d);
}

static void what_vanished_and_what_is_new_are_rows(void **state)
{
    struct history *h = *state;
    const struct load loads[] = {{STACK(h, "main", "old"), 40, 0},
                                 {STACK(h, "main", "young"), 0, 20},
                                 {STACK(h, "main", "same"), 300, 300}};
    struct diff d;

    run_load(h, loads, 3, 2);
    d = before_and_after(h, "function", 0);
    assert_string_equal(d.rows[0].key[0], "old"); /* the larger change first */
    assert_int_equal(d.rows[0].verdict, DIFF_VANISHED);
    assert_near(d.rows[0].cores_delta, -0.04, 0.005);
    assert_int_equal(d.rows[0].b_samples, 0);
    assert_string_equal(d.rows[1].key[0], "young");
    assert_int_equal(d.rows[1].verdict, DIFF_NEW);
    assert_near(d.rows[1].cores_delta, 0.02, 0.004);
    assert_int_equal(d.rows_found, 3);
    diff_deinit(&d);
    d = before_and_after(h, "function", 1);
    assert_int_equal(d.row_count, 1);
    assert_int_equal(d.rows_found, 3);
    diff_deinit(&d);
}

static void one_sample_against_none_is_not_a_finding(void **state)
{
    struct history *h = *state;
    uint32_t work = STACK(h, "main", "work"), rare = STACK(h, "main", "rare");
    struct id128 p = history_profiler(h, "a", NULL, 0, 130);
    struct diff d;

    CHUNK(h, ((struct history_chunk){.profiler = p, .sequence = 1, .from = 0, .to = 30}),
          {.leaf = work, .count = 3000});
    CHUNK(h, ((struct history_chunk){.profiler = p, .sequence = 2, .from = 100, .to = 130}),
          {.leaf = work, .count = 3000}, {.leaf = rare, .count = 1});
    d = before_and_after(h, "function", 0);
    assert_int_equal(row_of(&d, "rare")->verdict, DIFF_TOO_FEW);
    assert_near(row_of(&d, "rare")->p_value, 1, 0);
    assert_int_equal(row_of(&d, "work")->verdict, DIFF_NOISE);
    diff_deinit(&d);
}

static void a_side_without_samples_proves_nothing(void **state)
{
    struct history *h = *state;
    struct id128 p = history_profiler(h, "a", NULL, 0, 30);
    struct diff d;

    CHUNK(h, ((struct history_chunk){.profiler = p, .sequence = 1, .from = 0, .to = 30}),
          {.leaf = STACK(h, "main", "work"), .count = 3000});
    d = before_and_after(h, "function", 0);
    assert_int_equal(d.row_count, 1);
    assert_int_equal(d.rows[0].verdict, DIFF_TOO_FEW);
    diff_deinit(&d);
}

static void a_rebuilt_binary_compares_by_name(void **state)
{
    struct history *h = *state;
    struct id128 p = history_profiler(h, "a", NULL, 0, 130);
    struct history_chunk before = {.profiler = p, .sequence = 1, .from = 0, .to = 30};
    struct history_chunk after = {.profiler = p, .sequence = 2, .from = 100, .to = 130};
    struct diff d;

    SYMBOLS(h, "/b", {0x10, 0x10, "work"});
    CHUNK(h, before, {.leaf = STACK(h, "/b+0x15"), .count = 1000});
    history_rebuild(h, 1);
    SYMBOLS(h, "/b", {0x70, 0x10, "work"});
    CHUNK(h, after, {.leaf = STACK(h, "/b+0x75"), .count = 1000});
    d = before_and_after(h, "function", 0);
    assert_int_equal(d.row_count, 1);
    assert_int_equal(d.rows[0].verdict, DIFF_NOISE);
    assert_int_equal(d.rows[0].a_samples, 1000);
    assert_int_equal(d.rows[0].b_samples, 1000);
    diff_deinit(&d);
}

static void a_changed_rate_of_sampling_is_no_change(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "main", "work");
    struct id128 p = history_profiler(h, "a", NULL, 0, 130);
    struct history_chunk before = {.profiler = p, .sequence = 1, .from = 0, .to = 30, .hz = 20};
    struct history_chunk after = {.profiler = p, .sequence = 2, .from = 100, .to = 130, .hz = 100};
    struct diff d;

    CHUNK(h, before, {.leaf = leaf, .count = 600});
    CHUNK(h, after, {.leaf = leaf, .count = 3000});
    d = before_and_after(h, "function", 0);
    assert_int_equal(d.rows[0].verdict, DIFF_NOISE);
    assert_near(d.rows[0].cores_delta, 0, 1e-9);
    diff_deinit(&d);
}

static void hosts_are_paired_by_name(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "main", "work");
    struct id128 a = history_profiler(h, "a", NULL, 0, 30),
                 b = history_profiler(h, "b", NULL, 0, 30);
    struct id128 later_b = history_profiler(h, "b", NULL, 100, 130);
    struct diff d;

    CHUNK(h, ((struct history_chunk){.profiler = a, .sequence = 1, .from = 0, .to = 30}),
          {.leaf = leaf, .count = 3000});
    CHUNK(h, ((struct history_chunk){.profiler = b, .sequence = 1, .from = 0, .to = 30}),
          {.leaf = leaf, .count = 600});
    CHUNK(h, ((struct history_chunk){.profiler = later_b, .sequence = 1, .from = 100, .to = 130}),
          {.leaf = leaf, .count = 600});
    d = before_and_after(h, "host", 0);
    assert_int_equal(row_of(&d, "a")->verdict, DIFF_VANISHED);
    assert_near(row_of(&d, "b")->cores_delta, 0, 1e-9);
    diff_deinit(&d);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(a_doubled_function_is_found_with_its_size),
        CLAIM(what_vanished_and_what_is_new_are_rows),
        CLAIM(one_sample_against_none_is_not_a_finding),
        CLAIM(a_side_without_samples_proves_nothing),
        CLAIM(a_rebuilt_binary_compares_by_name),
        CLAIM(a_changed_rate_of_sampling_is_no_change),
        CLAIM(hosts_are_paired_by_name),
    };

    return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
