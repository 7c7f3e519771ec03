/* mappings: sorted, never overlapping, whatever is mapped over what. */
#include "agent/process/mappings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/rng.h"

static const struct binary file_a, file_b;

static void put(struct mappings *m, uint64_t start, uint64_t end, uint64_t offset,
                const struct binary *binary)
{
    assert_int_equal(mappings_put(m, (struct mapping){start, end, offset, binary, false}), ST_OK);
}

static void an_address_is_in_a_mapping_or_in_none(void **state)
{
    struct mappings m = {0};

    (void)state;
    put(&m, 0x2000, 0x3000, 0, &file_a);
    put(&m, 0x1000, 0x1800, 0, &file_b);
    assert_null(mappings_find(&m, 0xfff));
    assert_ptr_equal(mappings_find(&m, 0x1000)->binary, &file_b);
    assert_null(mappings_find(&m, 0x1800));
    assert_ptr_equal(mappings_find(&m, 0x2fff)->binary, &file_a);
    assert_null(mappings_find(&m, 0x3000));
    mappings_deinit(&m);
}

static void a_mapping_in_the_middle_leaves_both_ends(void **state)
{
    struct mappings m = {0};

    (void)state;
    put(&m, 0x1000, 0x9000, 0x100, &file_a);
    put(&m, 0x3000, 0x4000, 0, &file_b);
    assert_int_equal(m.count, 3);
    assert_true(mappings_find(&m, 0x2fff)->end == 0x3000);
    assert_ptr_equal(mappings_find(&m, 0x3000)->binary, &file_b);
    assert_true(mappings_find(&m, 0x4000)->start == 0x4000);
    assert_true(mappings_find(&m, 0x4000)->file_offset == 0x3100);
    mappings_deinit(&m);
}

static void what_continues_a_neighbour_is_one_with_it(void **state)
{
    struct mappings m = {0};

    (void)state;
    put(&m, 0x1000, 0x2000, 0, NULL);
    put(&m, 0x3000, 0x4000, 0, NULL);
    put(&m, 0x2000, 0x3000, 0, NULL);
    assert_int_equal(m.count, 1);
    put(&m, 0x5000, 0x6000, 0x1000, &file_a);
    put(&m, 0x6000, 0x7000, 0x2000, &file_a);
    assert_int_equal(m.count, 2);
    put(&m, 0x7000, 0x8000, 0x9000, &file_a); /* elsewhere in the file */
    assert_int_equal(m.count, 3);
    put(&m, 0x5800, 0x5900, 0x1800, &file_a); /* the same again */
    assert_int_equal(m.count, 3);
    mappings_deinit(&m);
}

static void impossible_ranges_are_refused(void **state)
{
    struct mappings m = {0};

    (void)state;
    assert_int_equal(mappings_put(&m, (struct mapping){.start = 5, .end = 5}), ST_INVALID);
    assert_int_equal(mappings_put(&m, (struct mapping){.start = 5, .end = 4}), ST_INVALID);
    assert_int_equal(m.count, 0);
    mappings_deinit(&m);
}

static void the_limit_is_a_status(void **state)
{
    struct mappings m = {0};
    enum status st = ST_OK;
    uint64_t start = 0;

    (void)state;
    for (; st == ST_OK; start += 0x2000)
        st = mappings_put(&m, (struct mapping){.start = start, .end = start + 0x1000});
    assert_int_equal(st, ST_FULL);
    assert_true(m.count <= PROCESS_MAPPINGS_MAX && m.count > PROCESS_MAPPINGS_MAX - 4);
    mappings_deinit(&m);
}

/* Against one owner a page, which is too simple to be wrong. */
static void any_order_of_mappings_equals_a_page_table(void **state)
{
    enum { PAGES = 64 };
    const struct binary *owners[] = {&file_a, &file_b, NULL};
    const struct binary *page[PAGES] = {NULL};
    bool mapped[PAGES] = {false};
    uint64_t offset[PAGES] = {0};
    struct rng rng = rng_new();
    struct mappings m = {0};

    (void)state;
    for (int round = 0; round < 5000; round++) {
        uint32_t start = rng_below(&rng, PAGES), end = start + 1 + rng_below(&rng, PAGES - start);
        const struct binary *owner = owners[rng_below(&rng, 3)];
        uint64_t at = rng_below(&rng, 4);

        put(&m, start, end, at, owner);
        for (uint32_t i = start; i < end; i++) {
            mapped[i] = true;
            page[i] = owner;
            offset[i] = at + i - start;
        }
        for (uint32_t i = 0; i < PAGES; i++) {
            const struct mapping *found = mappings_find(&m, i);

            assert_int_equal(found != NULL, mapped[i]);
            if (found == NULL)
                continue;
            assert_ptr_equal(found->binary, page[i]);
            if (page[i] != NULL)
                assert_true(found->file_offset + i - found->start == offset[i]);
        }
    }
    mappings_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_is_in_a_mapping_or_in_none),
        cmocka_unit_test(a_mapping_in_the_middle_leaves_both_ends),
        cmocka_unit_test(what_continues_a_neighbour_is_one_with_it),
        cmocka_unit_test(impossible_ranges_are_refused),
        cmocka_unit_test(the_limit_is_a_status),
        cmocka_unit_test(any_order_of_mappings_equals_a_page_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
