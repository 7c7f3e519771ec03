/* regions: rows are given out tightly, never twice, and come back. */
#include "agent/unwind/regions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rng.h"

static struct region take(struct regions *r, uint32_t count)
{
    struct region out = {0};

    assert_int_equal(regions_take(r, count, &out), ST_OK);
    assert_int_equal(out.count, count);
    return out;
}

static void small_tables_share_a_shard(void **state)
{
    struct regions r = {.shards_max = 2};
    struct region a = take(&r, 100), b = take(&r, 1000);

    (void)state;
    assert_int_equal(a.shard, b.shard);
    assert_true(a.first + a.count <= b.first);
    assert_false(regions_uses(&r, 1));
}

static void the_tightest_hole_is_taken(void **state)
{
    struct regions r = {.shards_max = 2};
    struct region wide, tight, kept;

    (void)state;
    wide = take(&r, 8 * REGIONS_BLOCK_ROWS);
    kept = take(&r, 1);
    tight = take(&r, 2 * REGIONS_BLOCK_ROWS);
    (void)take(&r, 1);
    regions_give_back(&r, wide);
    regions_give_back(&r, tight);
    assert_int_equal(take(&r, 2 * REGIONS_BLOCK_ROWS - 1).first, tight.first);
    assert_int_equal(take(&r, 3 * REGIONS_BLOCK_ROWS).first, wide.first);
    assert_true(regions_uses(&r, kept.shard));
}

static void what_has_no_room_is_refused(void **state)
{
    struct regions r = {.shards_max = 1};
    struct region whole, out;

    (void)state;
    assert_int_equal(regions_take(&r, ABI_SHARD_ROWS + 1, &out), ST_TOO_BIG);
    whole = take(&r, ABI_SHARD_ROWS);
    assert_int_equal(regions_take(&r, 1, &out), ST_FULL);
    regions_give_back(&r, whole);
    assert_false(regions_uses(&r, 0));
    (void)take(&r, ABI_SHARD_ROWS);
}

static void no_row_is_given_out_twice(void **state)
{
    static uint8_t owner[4][ABI_SHARD_ROWS];
    struct regions r = {.shards_max = 4};
    struct region held[200] = {0};
    struct rng rng = rng_new();

    (void)state;
    for (int step = 0; step < 20000; step++) {
        struct region *h = &held[rng_below(&rng, 200)];

        if (h->count > 0) {
            memset(owner[h->shard] + h->first, 0, h->count);
            regions_give_back(&r, *h);
            h->count = 0;
        } else if (regions_take(&r, 1 + rng_below(&rng, 4000), h) == ST_OK) {
            assert_true(h->first + h->count <= ABI_SHARD_ROWS);
            for (uint32_t i = 0; i < h->count; i++)
                assert_int_equal(owner[h->shard][h->first + i]++, 0);
        }
    }
    for (int i = 0; i < 200; i++)
        if (held[i].count > 0)
            regions_give_back(&r, held[i]);
    for (uint32_t i = 0; i < 4; i++)
        assert_false(regions_uses(&r, i));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_tables_share_a_shard),
        cmocka_unit_test(the_tightest_hole_is_taken),
        cmocka_unit_test(what_has_no_room_is_refused),
        cmocka_unit_test(no_row_is_given_out_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
