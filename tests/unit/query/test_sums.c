/* What queries sum with: interval sets, dense numbers for keys, texts and ids. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/query/id_map.h"
#include "coordinator/query/keys.h"
#include "coordinator/query/spans.h"
#include "coordinator/query/texts.h"

static struct spans spans_of(const struct span *items, uint32_t count)
{
    struct spans s = {0};

    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(spans_add(&s, items[i].from, items[i].to), ST_OK);
    spans_merge(&s);
    return s;
}
#define SPANS(...)                               \
    spans_of((const struct span[]){__VA_ARGS__}, \
             sizeof((const struct span[]){__VA_ARGS__}) / sizeof(struct span))

static void spans_join_what_overlaps_or_touches(void **state)
{
    struct spans s = SPANS({50, 60}, {10, 20}, {15, 30}, {30, 35}, {70, 70}, {9, 8}, {52, 55});

    (void)state;
    assert_int_equal(s.count, 2);
    assert_int_equal(s.items[0].from, 10);
    assert_int_equal(s.items[0].to, 35);
    assert_int_equal(spans_length(&s), 35);
    assert_int_equal(spans_length_within(&s, 30, 55), 10);
    assert_int_equal(spans_length_within(&s, 35, 50), 0);
    spans_deinit(&s);
}

static void spans_tell_what_two_sets_share(void **state)
{
    struct spans a = SPANS({0, 10}, {20, 30}, {40, 50}), b = SPANS({5, 25}, {30, 41}, {49, 99});
    struct spans common;

    (void)state;
    assert_int_equal(spans_common(&a, &b), 5 + 5 + 1 + 1);
    assert_int_equal(spans_common(&b, &a), 12);
    assert_int_equal(spans_intersect(&a, &b, &common), ST_OK);
    assert_int_equal(spans_length(&common), 12);
    assert_int_equal(common.count, 4);
    spans_deinit(&a);
    spans_deinit(&b);
    spans_deinit(&common);
}

static void keys_are_numbered_in_order_of_arrival(void **state)
{
    struct keys k = {0};

    (void)state;
    assert_int_equal(keys_find(&k, (struct key){1, 2}), KEYS_NONE);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < 5000; i++) {
            uint32_t number;

            assert_int_equal(keys_put(&k, (struct key){i % 7, i}, &number), ST_OK);
            assert_int_equal(number, i);
        }
    }
    assert_int_equal(k.count, 5000);
    assert_int_equal(keys_find(&k, (struct key){4000 % 7, 4000}), 4000);
    assert_int_equal(keys_find(&k, (struct key){4000 % 7 + 1, 4000}), KEYS_NONE);
    keys_deinit(&k);
}

static void texts_do_not_move_and_are_one_each(void **state)
{
    struct texts t = {0};
    const char *first;
    char text[16];
    uint32_t number;

    (void)state;
    assert_int_equal(texts_put(&t, "", &number), ST_OK);
    first = t.texts[0];
    for (uint32_t i = 1; i < 2000; i++) {
        (void)snprintf(text, sizeof(text), "text %u", i);
        assert_int_equal(texts_put(&t, text, &number), ST_OK);
        assert_int_equal(number, i);
    }
    assert_int_equal(texts_put(&t, "text 77", &number), ST_OK);
    assert_int_equal(number, 77);
    assert_ptr_equal(t.texts[0], first);
    texts_deinit(&t);
}

static void an_id_has_no_number_until_it_is_given_one(void **state)
{
    static const uint32_t ids[] = {0, 1, 255, 256, 70000, 1 << 20, 3};
    struct id_map m = {0};

    (void)state;
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(id_map_get(&m, ids[i]), ID_MAP_NONE);
        assert_int_equal(id_map_set(&m, ids[i], i), ST_OK);
    }
    for (uint32_t i = 0; i < 7; i++)
        assert_int_equal(id_map_get(&m, ids[i]), i);
    assert_int_equal(id_map_get(&m, 2), ID_MAP_NONE);
    assert_int_equal(id_map_get(&m, UINT32_MAX), ID_MAP_NONE);
    id_map_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_join_what_overlaps_or_touches),
        cmocka_unit_test(spans_tell_what_two_sets_share),
        cmocka_unit_test(keys_are_numbered_in_order_of_arrival),
        cmocka_unit_test(texts_do_not_move_and_are_one_each),
        cmocka_unit_test(an_id_has_no_number_until_it_is_given_one),
    };

    return cmocka_run_group_tests_name("sums", tests, NULL, NULL);
}
