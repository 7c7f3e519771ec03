/* symtab: offsets find their names, before and after the wire, and bad tables are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"
#include "tests/support/hex.h"
#include "tests/support/rng.h"

/* {1: 1, 2: [3 rows, starts, sizes, names]}: 0x1000 + 0x10 "main", 0x1010 + 0 "_init",
 * 0x2000 + 0x80 "gr\u00fc\u00df". */
static const char golden[] = "82 01 01 02 94 03"
                             "c4 05 8020 10 f01f"
                             "c4 04 10 00 8001"
                             "c4 12 6d61696e00 5f696e697400 6772c3bcc39f00";

static struct symtab small_table(void)
{
    struct symtab t = {0};

    assert_int_equal(symtab_add(&t, 0x2000, 0x80, "gr\xc3\xbc\xc3\x9f"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x1000, 0x10, "main"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x1010, 0, "_init"), ST_OK);
    symtab_sort(&t);
    return t;
}

static void an_offset_finds_the_symbol_that_covers_it(void **state)
{
    struct symtab t = small_table();

    (void)state;
    assert_null(symtab_find(&t, 0xfff));
    assert_string_equal(symtab_find(&t, 0x1000), "main");
    assert_string_equal(symtab_find(&t, 0x100f), "main");
    assert_string_equal(symtab_find(&t, 0x1010), "_init");
    assert_string_equal(symtab_find(&t, 0x1fff), "_init");
    assert_string_equal(symtab_find(&t, 0x207f), "gr\xc3\xbc\xc3\x9f");
    assert_null(symtab_find(&t, 0x2080));
    symtab_deinit(&t);
    symtab_deinit(&t);
    assert_null(symtab_find(&t, 0x1000));
}

static void the_last_unsized_symbol_has_no_end(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(symtab_add(&t, 0x100, 0, "_etext"), ST_OK);
    symtab_sort(&t);
    assert_string_equal(symtab_find(&t, UINT64_MAX), "_etext");
    symtab_deinit(&t);
}

static void a_symbol_inside_another_does_not_hide_the_rest_of_it(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(symtab_add(&t, 0x100, 0x100, "outer"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x110, 0x10, "inner"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x130, 0, "label"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x140, 0x10, "tail"), ST_OK);
    symtab_sort(&t);
    assert_string_equal(symtab_find(&t, 0x118), "inner");
    assert_string_equal(symtab_find(&t, 0x120), "outer");
    assert_string_equal(symtab_find(&t, 0x138), "label");
    assert_string_equal(symtab_find(&t, 0x1ff), "outer");
    assert_null(symtab_find(&t, 0x200));
    symtab_deinit(&t);
}

static void of_several_names_the_best_one_is_kept(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(symtab_add(&t, 0x10, 0, "aaa"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x10, 8, "__memcpy"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x10, 8, "memmove"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x10, 8, "memcpy"), ST_OK);
    symtab_sort(&t);
    assert_int_equal(t.count, 1);
    assert_string_equal(symtab_find(&t, 0x10), "memcpy");
    symtab_deinit(&t);
}

static void names_are_made_text_and_cut(void **state)
{
    struct symtab t = {0};
    char *endless = calloc(1, SYMTAB_NAME_MAX + 3);

    (void)state;
    memset(endless, 'x', SYMTAB_NAME_MAX - 1);
    endless[SYMTAB_NAME_MAX - 1] = '\xc3'; /* a character across the limit */
    endless[SYMTAB_NAME_MAX] = '\xbc';
    assert_int_equal(symtab_add(&t, 1, 1, ""), ST_INVALID);
    assert_int_equal(symtab_add(&t, 1, 1,
                                "bad\xff"
                                "byte"),
                     ST_OK);
    assert_int_equal(symtab_add(&t, 2, 1, endless), ST_OK);
    symtab_sort(&t);
    assert_string_equal(symtab_find(&t, 1), "bad?byte");
    assert_int_equal(strlen(symtab_find(&t, 2)), SYMTAB_NAME_MAX - 1);
    symtab_deinit(&t);
    free(endless);
}

static void a_better_source_makes_a_better_grade(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_EXPORTS);
    t.sources = SYMTAB_FROM_DYNSYM;
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_EXPORTS);
    t.sources |= SYMTAB_FROM_DEBUGDATA;
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_FUNCTIONS);
    t.sources = SYMTAB_FROM_DYNSYM | SYMTAB_FROM_DWARF;
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_PLACES);
    t.is_cut = true;
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_PLACES_CUT);
}

/* ---- bytes ---- */

static void the_bytes_are_the_golden_ones(void **state)
{
    struct symtab t = small_table();
    struct blob packed = {0}, plain = {0};

    (void)state;
    assert_int_equal(symtab_encode(&t, &packed), ST_OK);
    assert_int_equal(decompress_blob(blob_slice(&packed), 1000, &plain), ST_OK);
    assert_true(hex_equal(blob_slice(&plain), golden));
    blob_deinit(&plain);
    blob_deinit(&packed);
    symtab_deinit(&t);
}

static enum status decode_plain(struct slice plain, struct symtab *out)
{
    struct blob packed = {0};
    enum status st;

    assert_int_equal(compress_blob(plain, &packed), ST_OK);
    st = symtab_decode(blob_slice(&packed), out);
    blob_deinit(&packed);
    return st;
}

static enum status decode_hex(const char *hex, struct symtab *out)
{
    struct blob plain = hex_bytes(hex);
    enum status st = decode_plain(blob_slice(&plain), out);

    blob_deinit(&plain);
    return st;
}

static void the_golden_bytes_are_read(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(decode_hex(golden, &t), ST_OK);
    assert_int_equal(t.count, 3);
    assert_string_equal(symtab_find(&t, 0x1005), "main");
    assert_int_equal(symtab_add(&t, 0x9000, 1, "later"), ST_OK); /* it may go on growing */
    assert_string_equal(symtab_find(&t, 0x9000), "later");
    symtab_deinit(&t);
}

static void an_empty_table_survives(void **state)
{
    struct symtab empty = {0}, back = {0};
    struct blob packed = {0};

    (void)state;
    symtab_sort(&empty);
    assert_int_equal(symtab_encode(&empty, &packed), ST_OK);
    assert_int_equal(symtab_decode(blob_slice(&packed), &back), ST_OK);
    assert_int_equal(back.count, 0);
    assert_null(symtab_find(&back, 0));
    symtab_deinit(&back);
    blob_deinit(&packed);
}

static void random_tables_survive(void **state)
{
    struct rng rng = rng_new();
    struct symtab t = {0}, back = {0};
    struct blob packed = {0};
    char name[32];

    (void)state;
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "f%u_%x", i, rng_below(&rng, 1000));
        assert_int_equal(symtab_add(&t, rng_u64(&rng) >> rng_below(&rng, 64),
                                    rng_u64(&rng) >> rng_below(&rng, 64), name),
                         ST_OK);
    }
    symtab_sort(&t);
    assert_int_equal(symtab_encode(&t, &packed), ST_OK);
    assert_int_equal(symtab_decode(blob_slice(&packed), &back), ST_OK);
    assert_int_equal(back.count, t.count);
    for (uint32_t i = 0; i < t.count; i++) {
        assert_int_equal(back.symbols[i].start, t.symbols[i].start);
        assert_int_equal(back.symbols[i].size, t.symbols[i].size);
        assert_string_equal(back.text + back.symbols[i].name, t.text + t.symbols[i].name);
    }
    symtab_deinit(&back);
    symtab_deinit(&t);
    blob_deinit(&packed);
}

static void an_unsorted_table_is_not_written(void **state)
{
    struct symtab t = {0};
    struct blob packed = {0};

    (void)state;
    assert_int_equal(symtab_add(&t, 2, 1, "b"), ST_OK);
    assert_int_equal(symtab_add(&t, 1, 1, "a"), ST_OK);
    assert_int_equal(symtab_encode(&t, &packed), ST_BAD_STATE);
    assert_null(packed.bytes);
    symtab_deinit(&t);
}

static void bad_tables_are_refused(void **state)
{
    static const struct {
        const char *hex;
        enum status st;
    } bad[] = {
        {"80", ST_INVALID}, /* no keys */
        {"81 01 01", ST_INVALID}, /* no symbols */
        {"81 02 94 00 c400 c400 c400", ST_INVALID}, /* no layout */
        {"82 01 02 02 94 00 c400 c400 c400", ST_UNSUPPORTED}, /* newer layout */
        {"82 01 01 02 93 00 c400 c400", ST_INVALID}, /* no names */
        {"82 01 01 02 94 02 c402 0100 c402 0101 c404 61006200", ST_INVALID}, /* same start */
        {"82 01 01 02 94 01 c401 01 c401 01 c402 6161", ST_INVALID}, /* no NUL */
        {"82 01 01 02 94 01 c401 01 c401 01 c401 00", ST_INVALID}, /* empty name */
        {"82 01 01 02 94 01 c401 01 c401 01 c402 ff00", ST_INVALID}, /* no UTF-8 */
        {"82 01 01 02 94 01 c401 01 c401 01 c404 61006200", ST_INVALID}, /* name too many */
        {"82 01 01 02 94 02 c402 0101 c402 0101 c402 6100", ST_INVALID}, /* one too few */
        {"82 01 01 02 94 01 c402 0101 c401 01 c402 6100", ST_INVALID}, /* start too many */
        {"82 01 01 02 94 cd1000 c401 01 c401 01 c402 6100", ST_INVALID}, /* lying count */
        {"82 01 01 02 94 ce00400001 c401 01 c401 01 c402 6100", ST_TOO_BIG}, /* 4 Mi + 1 rows */
        {"82 01 01 02 94 00 c400 c400 c400 c0", ST_INVALID}, /* leftovers */
        {"82 01 01 01 01", ST_INVALID}, /* key twice */
        {"82 01 01 02 94 02 c40b ffffffffffffffffff01 01 c402 0101 c404 61006200", ST_INVALID},
    };
    struct symtab t = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (decode_hex(bad[i].hex, &t) != bad[i].st)
            fail_msg("taken or wrong status: %s", bad[i].hex);
    assert_null(t.symbols);
}

/* The golden bytes with the keys that a reader may leave alone: sources 3, cut, no places. */
static void sources_and_the_mark_of_a_cut_come_back(void **state)
{
    struct symtab t = small_table(), back = {0};
    struct blob packed = {0};

    (void)state;
    t.sources = SYMTAB_FROM_DYNSYM | SYMTAB_FROM_SYMTAB;
    t.is_cut = true;
    assert_int_equal(symtab_encode(&t, &packed), ST_OK);
    assert_int_equal(symtab_decode(blob_slice(&packed), &back), ST_OK);
    assert_int_equal(back.sources, 3);
    assert_true(back.is_cut);
    blob_deinit(&packed);
    symtab_deinit(&back);
    symtab_deinit(&t);
    assert_int_equal(decode_hex("84 01 01 02 94 00 c400 c400 c400 03 03 04 c3", &t), ST_OK);
    assert_int_equal(t.sources, 3);
    assert_true(t.is_cut);
    symtab_deinit(&t);
}

static void damaged_places_are_refused_by_whoever_reads_them(void **state)
{
    struct blob plain = hex_bytes("83 01 01 02 94 00 c400 c400 c400 05 c402 0102"), packed = {0};
    struct symtab t = {0};

    (void)state;
    assert_int_equal(compress_blob(blob_slice(&plain), &packed), ST_OK);
    assert_int_equal(symtab_decode(blob_slice(&packed), &t), ST_OK);
    symtab_deinit(&t);
    assert_int_equal(symtab_decode_all(blob_slice(&packed), &t), ST_INVALID);
    assert_null(t.symbols);
    blob_deinit(&packed);
    blob_deinit(&plain);
}

static void columns_and_keys_to_come_are_skipped(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(
        decode_hex("83 01 01 02 95 01 c401 01 c401 01 c402 6100 93c0c0c0 07 81 01 c0", &t), ST_OK);
    assert_string_equal(symtab_find(&t, 1), "a");
    symtab_deinit(&t);
}

static void every_truncation_is_refused(void **state)
{
    struct blob plain = hex_bytes(golden);
    struct symtab t = {0};

    (void)state;
    for (size_t length = 0; length < plain.length; length++)
        assert_int_equal(decode_plain((struct slice){plain.bytes, length}, &t), ST_INVALID);
    assert_null(t.symbols);
    blob_deinit(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offset_finds_the_symbol_that_covers_it),
        cmocka_unit_test(the_last_unsized_symbol_has_no_end),
        cmocka_unit_test(a_symbol_inside_another_does_not_hide_the_rest_of_it),
        cmocka_unit_test(of_several_names_the_best_one_is_kept),
        cmocka_unit_test(names_are_made_text_and_cut),
        cmocka_unit_test(a_better_source_makes_a_better_grade),
        cmocka_unit_test(sources_and_the_mark_of_a_cut_come_back),
        cmocka_unit_test(damaged_places_are_refused_by_whoever_reads_them),
        cmocka_unit_test(the_bytes_are_the_golden_ones),
        cmocka_unit_test(the_golden_bytes_are_read),
        cmocka_unit_test(an_empty_table_survives),
        cmocka_unit_test(random_tables_survive),
        cmocka_unit_test(an_unsorted_table_is_not_written),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(columns_and_keys_to_come_are_skipped),
        cmocka_unit_test(every_truncation_is_refused),
    };

    return cmocka_run_group_tests_name("symtab", tests, NULL, NULL);
}
