/* wire: what is written is read back, and nothing a peer can send does more than fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "common/wire.h"

static struct wire_reader read_bytes(const char *bytes, size_t length)
{
    struct wire_reader r;

    wire_reader_init(&r, (struct slice){(const uint8_t *)bytes, length});
    return r;
}

#define READ(literal) read_bytes(literal, sizeof(literal) - 1)

static struct wire_writer *new_writer(size_t limit)
{
    struct wire_writer *w = NULL;

    assert_int_equal(wire_writer_new(limit, &w), ST_OK);
    return w;
}

/* ---- values ---- */

static const uint64_t numbers[] = {
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x100,
    0xffff,
    0x10000,
    UINT32_MAX,
    1ULL << 32,
    (1ULL << 63) - 1,
    1ULL << 63,
    UINT64_MAX,
};

static void unsigned_numbers_survive(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct wire_writer *w = new_writer(64);
        struct wire_reader r;

        wire_put_u64(w, numbers[i]);
        wire_reader_init(&r, wire_writer_bytes(w));
        assert_int_equal(wire_get_u64(&r), numbers[i]);
        assert_int_equal(wire_finish(&r), ST_OK);
        wire_writer_free(w);
    }
}

static void signed_numbers_survive(void **state)
{
    static const int64_t values[] = {0,    1,         -1,         -32,       -33,       -128,
                                     -129, INT16_MIN, -INT32_MAX, INT32_MIN, INT64_MIN, INT64_MAX};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        struct wire_writer *w = new_writer(64);
        struct wire_reader r;

        wire_put_i64(w, values[i]);
        wire_reader_init(&r, wire_writer_bytes(w));
        assert_int_equal(wire_get_i64(&r), values[i]);
        assert_int_equal(wire_finish(&r), ST_OK);
        wire_writer_free(w);
    }
}

static void text_bytes_and_the_rest_survive(void **state)
{
    struct wire_writer *w = new_writer(1024);
    struct wire_reader r;
    uint8_t three[3];
    char *text;

    (void)state;
    wire_put_str(w, "gr\xc3\xbc\xc3\x9f dich");
    wire_put_str(w, NULL);
    wire_put_bin(w, "\0\1\2", 3);
    wire_put_bin(w, NULL, 0);
    wire_put_bool(w, true);
    wire_put_bool(w, false);
    wire_put_f64(w, DBL_MIN);

    wire_reader_init(&r, wire_writer_bytes(w));
    text = wire_dup_str(&r, 20);
    assert_string_equal(text, "gr\xc3\xbc\xc3\x9f dich");
    assert_int_equal(wire_get_str(&r, 20).length, 0);
    wire_get_bytes(&r, three, 3);
    assert_memory_equal(three, "\0\1\2", 3);
    assert_int_equal(wire_get_bin(&r, 20).length, 0);
    assert_true(wire_get_bool(&r));
    assert_false(wire_get_bool(&r));
    assert_true(wire_get_f64(&r) == DBL_MIN);
    assert_int_equal(wire_finish(&r), ST_OK);
    free(text);
    wire_writer_free(w);
}

static void other_writers_wider_forms_are_read_too(void **state)
{
    struct wire_reader r =
        READ("\xcf\0\0\0\0\0\0\0\x05\xd0\x05\xd1\xff\xfe\xca\x3f\x80\0\0\xdb\0\0\0\x01"
             "a");

    (void)state;
    assert_int_equal(wire_get_u64(&r), 5);
    assert_int_equal(wire_get_u64(&r), 5);
    assert_int_equal(wire_get_i64(&r), -2);
    assert_true(wire_get_f64(&r) == 1.0);
    assert_int_equal(wire_get_str(&r, 1).length, 1);
    assert_int_equal(wire_finish(&r), ST_OK);
}

/* ---- refusals ---- */

static void a_number_out_of_its_range_is_refused(void **state)
{
    struct wire_reader negative = READ("\xff");
    struct wire_reader wide = READ("\xcf\0\0\0\x01\0\0\0\0");
    struct wire_reader unsignable = READ("\xcf\x80\0\0\0\0\0\0\0");
    struct wire_reader infinite = READ("\xcb\x7f\xf0\0\0\0\0\0\0");
    struct wire_reader nan = READ("\xca\x7f\xc0\0\0");

    (void)state;
    assert_int_equal(wire_get_u64(&negative), 0);
    assert_int_equal(wire_reader_status(&negative), ST_INVALID);
    assert_int_equal(wire_get_u32(&wide), 0);
    assert_int_equal(wire_reader_status(&wide), ST_INVALID);
    assert_int_equal(wire_get_i64(&unsignable), 0);
    assert_int_equal(wire_reader_status(&unsignable), ST_INVALID);
    assert_true(wire_get_f64(&infinite) == 0);
    assert_int_equal(wire_reader_status(&infinite), ST_INVALID);
    assert_true(wire_get_f64(&nan) == 0);
    assert_int_equal(wire_reader_status(&nan), ST_INVALID);
}

static void a_count_beyond_the_bytes_left_is_refused(void **state)
{
    struct wire_reader array = READ("\xdd\x05\xf5\xe1\x00");
    struct wire_reader map = READ("\x82\x01\x01\x02");
    struct wire_reader over = READ("\x93\x01\x01\x01");
    struct wire_reader skipped = READ("\xdf\xff\xff\xff\xff");

    (void)state;
    assert_int_equal(wire_get_array(&array, UINT32_MAX), 0);
    assert_int_equal(wire_reader_status(&array), ST_INVALID);
    assert_int_equal(wire_get_map(&map, 10), 0);
    assert_int_equal(wire_reader_status(&map), ST_INVALID);
    assert_int_equal(wire_get_array(&over, 2), 0);
    assert_int_equal(wire_reader_status(&over), ST_TOO_BIG);
    wire_skip(&skipped);
    assert_int_not_equal(wire_reader_status(&skipped), ST_OK);
}

static void a_length_beyond_the_bytes_left_or_the_limit_is_refused(void **state)
{
    struct wire_reader cut = READ("\xda\x00\x05"
                                  "abcd");
    struct wire_reader over = READ("\xa5"
                                   "abcde");
    struct wire_reader odd = READ("\xc4\x02"
                                  "ab");
    uint8_t three[3] = {9, 9, 9};

    (void)state;
    assert_null(wire_get_str(&cut, 100).bytes);
    assert_int_equal(wire_reader_status(&cut), ST_INVALID);
    assert_null(wire_dup_str(&over, 4));
    assert_int_equal(wire_reader_status(&over), ST_TOO_BIG);
    wire_get_bytes(&odd, three, 3);
    assert_int_equal(wire_reader_status(&odd), ST_INVALID);
    assert_int_equal(three[0], 9);
}

static void text_that_is_none_is_refused(void **state)
{
    static const char *const bad[] = {
        "\xa1\xff", /* no such byte */
        "\xa2\xc0\x80", /* over-long NUL */
        "\xa2\xc3\x28", /* broken second byte */
        "\xa3\xed\xa0\x80", /* surrogate */
        "\xa4\xf4\x90\x80\x80", /* above U+10FFFF */
        "\xa1\xc3", /* cut character */
    };
    struct wire_reader nul = READ("\xa3"
                                  "a\0b");

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wire_reader r = read_bytes(bad[i], strlen(bad[i]));

        assert_null(wire_get_str(&r, 100).bytes);
        assert_int_equal(wire_reader_status(&r), ST_INVALID);
    }
    assert_null(wire_get_str(&nul, 100).bytes);
    assert_int_equal(wire_reader_status(&nul), ST_INVALID);
}

static void the_first_failure_stays_and_later_reads_are_zero(void **state)
{
    struct wire_reader r = READ("\x95\x01\x01\x01\x01\x01");

    (void)state;
    assert_int_equal(wire_get_array(&r, 4), 0);
    assert_int_equal(wire_get_u64(&r), 0);
    assert_false(wire_get_bool(&r));
    assert_int_equal(column_get(&r), 0);
    wire_fail(&r, ST_NOMEM);
    assert_int_equal(wire_finish(&r), ST_TOO_BIG);
}

static void leftovers_are_refused(void **state)
{
    struct wire_reader r = READ("\x01\x02");

    (void)state;
    (void)wire_get_u64(&r);
    assert_int_equal(wire_finish(&r), ST_INVALID);
}

static void keys_must_ascend_from_one(void **state)
{
    struct wire_reader twice = READ("\x82\x01\xc0\x01\xc0");
    struct wire_reader zero = READ("\x81\x00\xc0");
    uint64_t key = 0;
    uint32_t pairs;

    (void)state;
    pairs = wire_get_map(&twice, 9);
    assert_int_equal(pairs, 2);
    assert_true(wire_key(&twice, &key));
    assert_int_equal(key, 1);
    wire_skip(&twice);
    assert_false(wire_key(&twice, &key));
    assert_int_equal(wire_reader_status(&twice), ST_INVALID);

    key = 0;
    assert_int_equal(wire_get_map(&zero, 9), 1);
    assert_false(wire_key(&zero, &key));
}

static void every_kind_of_value_is_skipped_whole(void **state)
{
    struct wire_reader r = READ("\x9f" /* 15 values */
                                "\xc0\xc2\x7f\xe0\xcd\x01\x02\xd3\0\0\0\0\0\0\0\0"
                                "\xca\0\0\0\0\xcb\0\0\0\0\0\0\0\0"
                                "\xa2"
                                "hi\xd9\x01x\xc5\x00\x02zz"
                                "\xd6\x01\0\0\0\0\xc7\x03\x01xyz"
                                "\x81\x01\x92\xc3\xc3\xdc\x00\x01\x01"
                                "\x2a");

    (void)state;
    wire_skip(&r);
    assert_int_equal(wire_get_u64(&r), 42);
    assert_int_equal(wire_finish(&r), ST_OK);
}

static void skipping_ends_at_the_depth_limit(void **state)
{
    char nested[WIRE_DEPTH_MAX + 2];
    struct wire_reader r;

    (void)state;
    memset(nested, '\x91', sizeof(nested));
    nested[WIRE_DEPTH_MAX] = 0;
    r = read_bytes(nested, WIRE_DEPTH_MAX + 1);
    wire_skip(&r);
    assert_int_equal(wire_finish(&r), ST_OK);

    nested[WIRE_DEPTH_MAX] = '\x91';
    nested[WIRE_DEPTH_MAX + 1] = 0;
    r = read_bytes(nested, WIRE_DEPTH_MAX + 2);
    wire_skip(&r);
    assert_int_equal(wire_reader_status(&r), ST_TOO_BIG);
}

static void skipping_nothing_or_an_unused_tag_fails(void **state)
{
    struct wire_reader empty = read_bytes(NULL, 0);
    struct wire_reader unused = READ("\xc1");
    struct wire_reader cut = READ("\x92\x01");

    (void)state;
    wire_skip(&empty);
    assert_int_equal(wire_reader_status(&empty), ST_INVALID);
    wire_skip(&unused);
    assert_int_equal(wire_reader_status(&unused), ST_INVALID);
    wire_skip(&cut);
    assert_int_equal(wire_reader_status(&cut), ST_INVALID);
}

/* ---- the writer ---- */

static void a_writer_over_its_limit_says_so_and_shows_nothing(void **state)
{
    struct wire_writer *w = new_writer(4);

    (void)state;
    wire_put_str(w, "abc");
    assert_int_equal(wire_writer_status(w), ST_OK);
    assert_int_equal(wire_writer_bytes(w).length, 4);
    wire_put_bool(w, true);
    assert_int_equal(wire_writer_status(w), ST_TOO_BIG);
    assert_int_equal(wire_writer_bytes(w).length, 0);

    wire_writer_reset(w);
    wire_put_bool(w, true);
    assert_int_equal(wire_writer_status(w), ST_OK);
    assert_int_equal(wire_writer_bytes(w).length, 1);
    wire_writer_free(w);
    wire_writer_free(NULL);
}

/* ---- columns ---- */

static void columns_keep_every_number(void **state)
{
    struct wire_writer *w = new_writer(1024);
    struct column c = {0};
    struct wire_reader r, inside;

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        column_put(&c, numbers[i]);
        column_put_signed(&c, (int64_t)numbers[i]);
    }
    wire_put_column(w, &c);

    wire_reader_init(&r, wire_writer_bytes(w));
    wire_reader_init(&inside, wire_get_bin(&r, 1024));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        assert_int_equal(column_get(&inside), numbers[i]);
        assert_int_equal((uint64_t)column_get_signed(&inside), numbers[i]);
    }
    assert_int_equal(wire_finish(&inside), ST_OK);
    assert_int_equal(wire_finish(&r), ST_OK);
    column_deinit(&c);
    column_deinit(&c);
    wire_writer_free(w);
}

static void a_failed_column_fails_its_writer(void **state)
{
    struct wire_writer *w = new_writer(1024);
    struct column c = {.failed = true};

    (void)state;
    column_put(&c, 1);
    assert_int_equal(c.length, 0);
    wire_put_column(w, &c);
    assert_int_equal(wire_writer_status(w), ST_NOMEM);
    wire_writer_free(w);
}

static void a_varint_has_one_form_and_an_end(void **state)
{
    static const char *const bad[] = {
        "\x80", /* no end */
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", /* 65 bits */
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    };
    struct wire_reader longer = READ("\x81\x00");
    struct wire_reader empty = READ("");

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct wire_reader r = read_bytes(bad[i], strlen(bad[i]));

        assert_int_equal(column_get(&r), 0);
        assert_int_equal(wire_reader_status(&r), ST_INVALID);
    }
    assert_int_equal(column_get(&longer), 0);
    assert_int_equal(wire_reader_status(&longer), ST_INVALID);
    assert_int_equal(column_get(&empty), 0);
    assert_int_equal(wire_reader_status(&empty), ST_INVALID);
}

/* ---- text from elsewhere ---- */

static void repair_leaves_text_alone_and_replaces_the_rest(void **state)
{
    char good[] = "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x94\xa5";
    char bad[] = "a\xff\xc3.\xe2\x82";

    (void)state;
    utf8_repair(good, strlen(good));
    assert_string_equal(good, "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x94\xa5");
    utf8_repair(bad, strlen(bad));
    assert_string_equal(bad, "a??.??");
    assert_true(utf8_valid(bad, strlen(bad)));
}

static void a_cut_falls_between_characters(void **state)
{
    (void)state;
    assert_int_equal(utf8_cut("a\xe2\x82\xac", 4, 4), 4);
    assert_int_equal(utf8_cut("a\xe2\x82\xac", 4, 3), 1);
    assert_int_equal(utf8_cut("a\xe2\x82\xac", 4, 1), 1);
    assert_int_equal(utf8_cut("ab", 2, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_numbers_survive),
        cmocka_unit_test(signed_numbers_survive),
        cmocka_unit_test(text_bytes_and_the_rest_survive),
        cmocka_unit_test(other_writers_wider_forms_are_read_too),
        cmocka_unit_test(a_number_out_of_its_range_is_refused),
        cmocka_unit_test(a_count_beyond_the_bytes_left_is_refused),
        cmocka_unit_test(a_length_beyond_the_bytes_left_or_the_limit_is_refused),
        cmocka_unit_test(text_that_is_none_is_refused),
        cmocka_unit_test(the_first_failure_stays_and_later_reads_are_zero),
        cmocka_unit_test(leftovers_are_refused),
        cmocka_unit_test(keys_must_ascend_from_one),
        cmocka_unit_test(every_kind_of_value_is_skipped_whole),
        cmocka_unit_test(skipping_ends_at_the_depth_limit),
        cmocka_unit_test(skipping_nothing_or_an_unused_tag_fails),
        cmocka_unit_test(a_writer_over_its_limit_says_so_and_shows_nothing),
        cmocka_unit_test(columns_keep_every_number),
        cmocka_unit_test(a_failed_column_fails_its_writer),
        cmocka_unit_test(a_varint_has_one_form_and_an_end),
        cmocka_unit_test(repair_leaves_text_alone_and_replaces_the_rest),
        cmocka_unit_test(a_cut_falls_between_characters),
    };

    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
