/* Rankings: self and total, recursion, rates and losses, what is cut, and what cannot be told
 * apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "coordinator/query/rank.h"
#include "tests/unit/query/history.h"

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

static struct ranking ranked(struct history *h, const char *by_text, uint32_t limit)
{
    struct profile p = history_collect(h, 0, 600, NULL);
    enum rank_by by[RANK_DIMENSIONS_MAX];
    struct ranking r;
    uint32_t count;

    assert_int_equal(rank_by_parse(by_text, by, &count), ST_OK);
    assert_int_equal(rank(&p, history_symbolizer(h), history_dictionary(h), by, count, limit, &r),
                     ST_OK);
    profile_deinit(&p);
    return r;
}

static const struct rank_row *row_of(const struct ranking *r, const char *first, const char *second)
{
    for (uint32_t i = 0; i < r->row_count; i++) {
        const struct rank_row *row = &r->rows[i];

        if (strcmp(row->key[0], first) == 0 && (second == NULL || strcmp(row->key[1], second) == 0))
            return row;
    }
    fail_msg("there is no row %s", first);
    return NULL;
}

static struct history_chunk chunk_of(struct id128 profiler)
{
    return (struct history_chunk){.profiler = profiler, .sequence = 1, .to = 10};
}

static void self_is_the_innermost_frame_and_total_any(void **state)
{
    struct history *h = *state;
    uint32_t deep = STACK(h, "main", "parse", "alloc"), shallow = STACK(h, "main", "parse");
    struct ranking r;

    CHUNK(h, chunk_of(history_profiler(h, "a", NULL, 0, 10)), {.leaf = deep, .count = 300},
          {.leaf = shallow, .count = 100});
    r = ranked(h, "function", 0);
    assert_int_equal(r.row_count, 3);
    assert_string_equal(r.rows[0].key[0], "alloc");
    assert_string_equal(r.rows[1].key[0], "parse");
    assert_string_equal(r.rows[2].key[0], "main");
    assert_near(r.rows[0].self.cores, 0.3, 1e-9);
    assert_near(r.rows[0].total.cores, 0.3, 1e-9);
    assert_near(r.rows[1].self.cores, 0.1, 1e-9);
    assert_near(r.rows[1].total.cores, 0.4, 1e-9);
    assert_near(r.rows[2].self.cores, 0, 0);
    assert_near(r.rows[2].total.share, 1, 1e-9);
    assert_int_equal(r.rows[2].total_samples, 400);
    ranking_deinit(&r);
}

/* Marks are no frames; every other one counts for each of its samples. */
static void the_share_of_named_frames_is_weighted_by_samples(void **state)
{
    struct history *h = *state;
    uint32_t named = STACK(h, "/bin/a+0x10", "main"), bare = STACK(h, "[truncated]", "/bin/a+0x99");
    struct ranking r;

    SYMBOLS(h, "/bin/a", {0x10, 0x10, "start"});
    CHUNK(h, chunk_of(history_profiler(h, "a", NULL, 0, 10)), {.leaf = named, .count = 300},
          {.leaf = bare, .count = 100});
    r = ranked(h, "binary", 1); /* of all rows, those that are cut too */
    assert_int_equal(r.naming.frames, 2 * 300 + 100);
    assert_int_equal(r.naming.named, 2 * 300);
    assert_near(naming_share(&r.naming), 6.0 / 7, 1e-9);
    ranking_deinit(&r);
    r = ranked(h, "function", 0);
    assert_int_equal(row_of(&r, "a+0x99", NULL)->self_samples, 100); /* and never vanishes */
    assert_string_equal(row_of(&r, "a+0x99", NULL)->binary, "a");
    ranking_deinit(&r);
}

static void recursion_counts_once_a_stack(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "main", "walk", "visit", "walk", "visit", "walk");
    struct ranking r;

    CHUNK(h, chunk_of(history_profiler(h, "a", NULL, 0, 10)), {.leaf = leaf, .count = 100});
    r = ranked(h, "function", 0);
    assert_int_equal(row_of(&r, "walk", NULL)->total_samples, 100);
    assert_int_equal(row_of(&r, "visit", NULL)->total_samples, 100);
    assert_near(row_of(&r, "walk", NULL)->total.cores, 0.1, 1e-9);
    assert_near(row_of(&r, "walk", NULL)->self.cores, 0.1, 1e-9);
    ranking_deinit(&r);
    r = ranked(h, "function", 1); /* totals of the rows that stay are the same */
    assert_int_equal(r.rows[0].total_samples, 100);
    ranking_deinit(&r);
}

static void samples_at_99_and_199_hz_are_equal_cores(void **state)
{
    struct history *h = *state;
    uint32_t one = STACK(h, "main", "one"), two = STACK(h, "main", "two");
    struct history_chunk slow = chunk_of(history_profiler(h, "slow", NULL, 0, 10));
    struct history_chunk fast = chunk_of(history_profiler(h, "fast", NULL, 0, 10));
    struct ranking r;

    slow.hz = 99;
    fast.hz = 199;
    CHUNK(h, slow, {.leaf = one, .count = 990});
    CHUNK(h, fast, {.leaf = two, .count = 1990});
    r = ranked(h, "function", 0);
    assert_near(row_of(&r, "one", NULL)->self.cores, 1, 1e-6);
    assert_near(row_of(&r, "two", NULL)->self.cores, 1, 1e-6);
    assert_near(row_of(&r, "one", NULL)->self.share, 0.5, 1e-6);
    ranking_deinit(&r);
}

static void losses_are_made_up_for(void **state)
{
    struct history *h = *state;
    struct history_chunk lossy = chunk_of(history_profiler(h, "a", NULL, 0, 10));
    struct ranking r;

    lossy.lost = 500;
    CHUNK(h, lossy, {.leaf = STACK(h, "main", "work"), .count = 500});
    r = ranked(h, "function", 0);
    assert_near(row_of(&r, "work", NULL)->self.cores, 1, 1e-9);
    assert_int_equal(row_of(&r, "work", NULL)->self_samples, 500);
    ranking_deinit(&r);
}

static void marks_are_rows(void **state)
{
    struct history *h = *state;
    struct ranking r;

    CHUNK(h, chunk_of(history_profiler(h, "a", NULL, 0, 10)),
          {.leaf = STACK(h, "[truncated]", "f"), .count = 10},
          {.leaf = STACK(h, "[process gone]"), .count = 20});
    r = ranked(h, "function", 0);
    assert_string_equal(r.rows[0].key[0], "[process gone]");
    assert_string_equal(r.rows[0].binary, "");
    assert_int_equal(row_of(&r, "[truncated]", NULL)->total_samples, 10);
    assert_near(row_of(&r, "[process gone]", NULL)->self.share, 2.0 / 3, 1e-9);
    ranking_deinit(&r);
}

static void dimensions_split_rows(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "/bin/a+0x10", "/lib/libc.so.6+0x20");
    struct history_chunk a = chunk_of(history_profiler(h, "a", "service=web", 0, 10));
    struct history_chunk b = chunk_of(history_profiler(h, "b", NULL, 0, 10));
    struct ranking r;

    CHUNK(h, a, {.leaf = leaf, .count = 10}, {.leaf = leaf, .count = 5, .thread = "io"});
    CHUNK(h, b, {.leaf = leaf, .count = 1});
    r = ranked(h, "service,function", 0);
    assert_int_equal(row_of(&r, "web", "libc.so.6+0x20")->self_samples, 15);
    assert_int_equal(row_of(&r, "[no service]", "libc.so.6+0x20")->self_samples, 1);
    assert_int_equal(row_of(&r, "web", "a+0x10")->total_samples, 15);
    assert_int_equal(r.rows_found, 4);
    ranking_deinit(&r);
    r = ranked(h, "host", 0);
    assert_int_equal(row_of(&r, "a", NULL)->self_samples, 15);
    assert_int_equal(row_of(&r, "a", NULL)->total_samples, 15);
    assert_null(row_of(&r, "a", NULL)->binary);
    ranking_deinit(&r);
    r = ranked(h, "binary", 0);
    assert_int_equal(row_of(&r, "libc.so.6", NULL)->self_samples, 16);
    assert_int_equal(row_of(&r, "a", NULL)->self_samples, 0);
    assert_int_equal(row_of(&r, "a", NULL)->total_samples, 16);
    ranking_deinit(&r);
    r = ranked(h, "thread,binary,host", 0);
    assert_int_equal(row_of(&r, "io", "libc.so.6")->self_samples, 5);
    ranking_deinit(&r);
}

static void what_the_limit_cuts_is_said(void **state)
{
    struct history *h = *state;
    struct ranking r;

    CHUNK(h, chunk_of(history_profiler(h, "a", NULL, 0, 10)),
          {.leaf = STACK(h, "main", "a"), .count = 60},
          {.leaf = STACK(h, "main", "b"), .count = 30},
          {.leaf = STACK(h, "main", "c"), .count = 10});
    r = ranked(h, "function", 2);
    assert_int_equal(r.row_count, 2);
    assert_int_equal(r.rows_found, 4);
    assert_near(r.folded_share, 0.1, 1e-9);
    ranking_deinit(&r);
}

static void callers_come_after_by_their_total(void **state)
{
    struct history *h = *state;
    struct ranking r;

    CHUNK(h, chunk_of(history_profiler(h, "a", NULL, 0, 10)),
          {.leaf = STACK(h, "start", "less", "a"), .count = 10},
          {.leaf = STACK(h, "start", "more", "a"), .count = 20});
    r = ranked(h, "function", 3);
    assert_string_equal(r.rows[0].key[0], "a");
    assert_string_equal(r.rows[1].key[0], "start");
    assert_string_equal(r.rows[2].key[0], "more");
    ranking_deinit(&r);
}

static void rows_that_cannot_be_told_apart_share_their_ranks(void **state)
{
    struct history *h = *state;
    struct ranking r;

    CHUNK(h, chunk_of(history_profiler(h, "a", NULL, 0, 10)),
          {.leaf = STACK(h, "hot"), .count = 500}, {.leaf = STACK(h, "warm"), .count = 52},
          {.leaf = STACK(h, "tepid"), .count = 50, .only_at = 3});
    r = ranked(h, "function", 0);
    assert_int_equal(row_of(&r, "hot", NULL)->rank_low, 1);
    assert_int_equal(row_of(&r, "hot", NULL)->rank_high, 1);
    assert_int_equal(row_of(&r, "warm", NULL)->rank_low, 2);
    assert_int_equal(row_of(&r, "warm", NULL)->rank_high, 3);
    assert_int_equal(row_of(&r, "tepid", NULL)->rank_low, 2);
    assert_int_equal(row_of(&r, "tepid", NULL)->rank_high, 3);
    ranking_deinit(&r);
}

static void sums_over_rows_are_the_whole(void **state)
{
    struct history *h = *state;
    static const char *const by[] = {"function", "binary", "host",
                                     "service",  "thread", "thread,function"};
    struct profile p;

    CHUNK(h, chunk_of(history_profiler(h, "a", "service=x", 0, 10)),
          {.leaf = STACK(h, "a", "b"), .count = 3},
          {.leaf = STACK(h, "/b+0x1", "k+0x2"), .count = 7},
          {.leaf = STACK(h, "[gone]"), .count = 1, .thread = "t"});
    p = history_collect(h, 0, 600, NULL);
    for (int i = 0; i < 6; i++) {
        struct ranking r = ranked(h, by[i], 0);
        double sum = 0;

        for (uint32_t k = 0; k < r.row_count; k++)
            sum += r.rows[k].self.weight_ns;
        assert_near(sum, p.weight_ns, 1e-3);
        ranking_deinit(&r);
    }
    profile_deinit(&p);
}

static void an_empty_profile_has_no_rows(void **state)
{
    struct ranking r = ranked(*state, "function", 20);

    assert_int_equal(r.row_count, 0);
    ranking_deinit(&r);
}

static void dimensions_are_parsed_strictly(void **state)
{
    static const char *const wrong[] = {"",        "functions", "function,",
                                        ",host",   "host,host", "function,binary,service,host",
                                        "Function"};
    enum rank_by by[RANK_DIMENSIONS_MAX];
    uint32_t count = 9;

    (void)state;
    for (int i = 0; i < 7; i++)
        assert_int_equal(rank_by_parse(wrong[i], by, &count), ST_INVALID);
    assert_int_equal(count, 9); /* untouched */
    assert_int_equal(rank_by_parse("service,function", by, &count), ST_OK);
    assert_int_equal(count, 2);
    assert_int_equal(by[0], RANK_BY_SERVICE);
    assert_int_equal(by[1], RANK_BY_FUNCTION);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(self_is_the_innermost_frame_and_total_any),
        CLAIM(recursion_counts_once_a_stack),
        CLAIM(the_share_of_named_frames_is_weighted_by_samples),
        CLAIM(samples_at_99_and_199_hz_are_equal_cores),
        CLAIM(losses_are_made_up_for),
        CLAIM(marks_are_rows),
        CLAIM(dimensions_split_rows),
        CLAIM(what_the_limit_cuts_is_said),
        CLAIM(callers_come_after_by_their_total),
        CLAIM(rows_that_cannot_be_told_apart_share_their_ranks),
        CLAIM(sums_over_rows_are_the_whole),
        CLAIM(an_empty_profile_has_no_rows),
        CLAIM(dimensions_are_parsed_strictly),
    };

    return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
