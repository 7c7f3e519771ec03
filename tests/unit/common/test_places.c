/* places: offsets find their lines and what was inlined there, before and after the wire, and bad
 * tables are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/places.h"
#include "common/symtab.h"
#include "tests/support/hex.h"
#include "tests/support/rng.h"

/* Texts a.c, a.h, inl, in2; calls {0, inl, a.c:7}, {1, in2, a.h:3}; spans 0x1000 a.c:5,
 * 0x1010 in2 in inl at a.h:1, 0x1020 unknown. */
static const char golden[] = "84 01 01"
                             "02 92 04 c410 612e6300 612e6800 696e6c00 696e3200"
                             "03 95 02 c402 0002 c402 0304 c402 0202 c402 0e07"
                             "04 95 03 c404 8020 10 10 c403 00 04 03 c403 02 02 03 c403 0a 07 01";

static uint32_t add_text(struct places *p, const char *text)
{
    uint32_t id = 0;

    assert_int_equal(places_add_text(p, text, &id), ST_OK);
    return id;
}

static void add_span(struct places *p, uint64_t start, uint32_t call, uint32_t file, uint32_t line)
{
    assert_int_equal(places_add_span(p, (struct place_span){start, call, file, line}), ST_OK);
}

static struct places small_places(void)
{
    struct places p = {0};
    uint32_t c = add_text(&p, "a.c"), h = add_text(&p, "a.h");
    uint32_t inl = add_text(&p, "inl"), in2 = add_text(&p, "in2"), outer = 0, inner = 0;

    assert_int_equal(places_add_call(&p, (struct place_call){0, inl, c, 7}, &outer), ST_OK);
    assert_int_equal(places_add_call(&p, (struct place_call){outer, in2, h, 3}, &inner), ST_OK);
    add_span(&p, 0x1000, 0, c, 5);
    add_span(&p, 0x1010, inner, h, 1);
    add_span(&p, 0x1020, 0, 0, 0);
    return p;
}

static void check_place(const struct place *p, const char *function, const char *file,
                        uint32_t line)
{
    if (function == NULL)
        assert_null(p->function);
    else
        assert_string_equal(p->function, function);
    assert_string_equal(p->file, file);
    assert_int_equal(p->line, line);
}

static void check_small(const struct places *p)
{
    struct place out[PLACES_DEPTH_MAX];

    assert_int_equal(places_find(p, 0xfff, out, PLACES_DEPTH_MAX), 0);
    assert_int_equal(places_find(p, 0x1000, out, PLACES_DEPTH_MAX), 1);
    check_place(&out[0], NULL, "a.c", 5);
    assert_int_equal(places_find(p, 0x101f, out, PLACES_DEPTH_MAX), 3);
    check_place(&out[0], "in2", "a.h", 1);
    check_place(&out[1], "inl", "a.h", 3);
    check_place(&out[2], NULL, "a.c", 7);
    assert_int_equal(places_find(p, 0x1020, out, PLACES_DEPTH_MAX), 0);
}

static void an_offset_finds_its_line_and_every_function_inlined_there(void **state)
{
    struct places p = small_places();

    (void)state;
    check_small(&p);
    places_deinit(&p);
    places_deinit(&p);
}

static void an_answer_that_does_not_fit_keeps_its_inner_and_its_outermost_line(void **state)
{
    struct places p = small_places();
    struct place out[2];

    (void)state;
    assert_int_equal(places_find(&p, 0x1010, out, 2), 2);
    check_place(&out[0], "in2", "a.h", 1);
    check_place(&out[1], NULL, "a.c", 7);
    assert_int_equal(places_find(&p, 0x1010, out, 1), 1);
    check_place(&out[0], NULL, "a.c", 7);
    places_deinit(&p);
}

static void spans_that_say_the_same_become_one(void **state)
{
    struct places p = {0};
    uint32_t c = add_text(&p, "a.c");

    (void)state;
    add_span(&p, 0x10, 0, c, 1);
    add_span(&p, 0x20, 0, c, 1);
    assert_int_equal(p.span_count, 1);
    add_span(&p, 0x30, 0, c, 2);
    add_span(&p, 0x30, 0, c, 3); /* the later one of one start counts */
    assert_int_equal(p.span_count, 2);
    assert_int_equal(p.spans[1].line, 3);
    assert_int_equal(places_add_span(&p, (struct place_span){0x2f, 0, c, 1}), ST_BAD_STATE);
    places_deinit(&p);
}

static void ids_that_are_not_there_are_not_taken(void **state)
{
    struct places p = {0};
    uint32_t id = 0, text = add_text(&p, "a.c");

    (void)state;
    assert_int_equal(places_add_text(&p, "", &id), ST_INVALID);
    assert_int_equal(places_add_call(&p, (struct place_call){1, text, 0, 0}, &id), ST_INVALID);
    assert_int_equal(places_add_call(&p, (struct place_call){0, 0, 0, 0}, &id), ST_INVALID);
    assert_int_equal(places_add_call(&p, (struct place_call){0, 2, 0, 0}, &id), ST_INVALID);
    assert_int_equal(places_add_call(&p, (struct place_call){0, text, 2, 0}, &id), ST_INVALID);
    assert_int_equal(places_add_span(&p, (struct place_span){1, 1, 0, 0}), ST_INVALID);
    assert_int_equal(places_add_span(&p, (struct place_span){1, 0, 2, 0}), ST_INVALID);
    assert_int_equal(id, 0);
    places_deinit(&p);
}

/* ---- bytes ---- */

static void the_bytes_are_the_golden_ones(void **state)
{
    struct places p = small_places();
    struct blob packed = {0}, plain = {0};

    (void)state;
    assert_int_equal(places_encode(&p, &packed), ST_OK);
    assert_int_equal(decompress_blob(blob_slice(&packed), 1000, &plain), ST_OK);
    assert_true(hex_equal(blob_slice(&plain), golden));
    blob_deinit(&plain);
    blob_deinit(&packed);
    places_deinit(&p);
}

static enum status decode_plain(struct slice plain, struct places *out)
{
    struct blob packed = {0};
    enum status st;

    assert_int_equal(compress_blob(plain, &packed), ST_OK);
    st = places_decode(blob_slice(&packed), out);
    blob_deinit(&packed);
    return st;
}

static enum status decode_hex(const char *hex, struct places *out)
{
    struct blob plain = hex_bytes(hex);
    enum status st = decode_plain(blob_slice(&plain), out);

    blob_deinit(&plain);
    return st;
}

static void the_golden_bytes_are_read(void **state)
{
    struct places p = {0};

    (void)state;
    assert_int_equal(decode_hex(golden, &p), ST_OK);
    check_small(&p);
    add_span(&p, 0x2000, 0, add_text(&p, "later.c"), 9); /* it may go on growing */
    places_deinit(&p);
}

static void bad_places_are_refused(void **state)
{
    static const struct {
        const char *hex;
        enum status st;
    } bad[] = {
        {"80", ST_INVALID}, /* no layout */
        {"81 01 02", ST_UNSUPPORTED}, /* newer layout */
        {"82 01 01 02 92 01 c401 00", ST_INVALID}, /* empty text */
        {"82 01 01 02 92 01 c402 ff00", ST_INVALID}, /* no UTF-8 */
        {"82 01 01 02 92 01 c402 6161", ST_INVALID}, /* no NUL */
        {"82 01 01 02 92 01 c404 61006200", ST_INVALID}, /* text too many */
        {"82 01 01 02 92 ce00100001 c402 6100", ST_TOO_BIG}, /* 1 Mi + 1 texts */
        /* one text; a call inside itself, of no function, of one that is not there, in no file */
        {"83 01 01 02 92 01 c402 6100 03 95 01 c401 02 c401 01 c401 00 c401 00", ST_INVALID},
        {"83 01 01 02 92 01 c402 6100 03 95 01 c401 00 c401 00 c401 00 c401 00", ST_INVALID},
        {"83 01 01 02 92 01 c402 6100 03 95 01 c401 00 c401 02 c401 00 c401 00", ST_INVALID},
        {"83 01 01 02 92 01 c402 6100 03 95 01 c401 00 c401 01 c401 04 c401 00", ST_INVALID},
        {"83 01 01 02 92 01 c402 6100 03 95 01 c401 01 c401 01 c401 00 c401 00", ST_INVALID},
        {"82 01 01 03 95 ce00200001 c401 00 c401 00 c401 00 c401 00", ST_TOO_BIG},
        /* a span in a call or a file that is not there; two of one start; one that wraps */
        {"82 01 01 04 95 01 c401 00 c401 02 c401 00 c401 00", ST_INVALID},
        {"82 01 01 04 95 01 c401 00 c401 00 c401 02 c401 00", ST_INVALID},
        {"82 01 01 04 95 02 c402 0100 c402 0000 c402 0000 c402 0002", ST_INVALID},
        {"82 01 01 04 95 02 c40b ffffffffffffffffff01 01 c402 0000 c402 0000 c402 0002",
         ST_INVALID},
        {"82 01 01 04 95 ce00400001 c401 00 c401 00 c401 00 c401 00", ST_TOO_BIG},
        {"81 01 01 c0", ST_INVALID}, /* leftovers */
    };
    struct places p = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (decode_hex(bad[i].hex, &p) != bad[i].st)
            fail_msg("taken or wrong status: %s", bad[i].hex);
    assert_null(p.spans);
}

static void every_truncation_is_refused(void **state)
{
    struct blob plain = hex_bytes(golden);
    struct places p = {0};

    (void)state;
    for (size_t length = 0; length < plain.length; length++)
        assert_int_equal(decode_plain((struct slice){plain.bytes, length}, &p), ST_INVALID);
    assert_null(p.spans);
    blob_deinit(&plain);
}

static void fill_at_random(struct places *p)
{
    struct rng rng = rng_new();
    uint64_t start = 0;
    uint32_t id;

    for (unsigned i = 0; i < 100; i++) {
        char name[] = {(char)('a' + i % 26), (char)('a' + i / 26), '\0'};

        (void)add_text(p, name);
    }
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(
            places_add_call(p,
                            (struct place_call){rng_below(&rng, i + 1), 1 + rng_below(&rng, 100),
                                                rng_below(&rng, 101), (uint32_t)rng_u64(&rng)},
                            &id),
            ST_OK);
    for (unsigned i = 0; i < 5000; i++) {
        start += rng_u64(&rng) >> (14 + rng_below(&rng, 50));
        add_span(p, start, rng_below(&rng, 1001), rng_below(&rng, 101), (uint32_t)rng_u64(&rng));
    }
}

static void random_places_survive_inside_a_symtab(void **state)
{
    struct symtab t = {.sources = SYMTAB_FROM_SYMTAB | SYMTAB_FROM_DWARF}, back = {0};
    struct blob packed = {0};

    (void)state;
    fill_at_random(&t.places);
    assert_int_equal(symtab_encode(&t, &packed), ST_OK);
    assert_int_equal(symtab_decode(blob_slice(&packed), &back), ST_OK);
    assert_int_equal(back.places.span_count, 0); /* names only */
    assert_int_equal(symtab_grade(&back), SYMTAB_GRADE_PLACES);
    symtab_deinit(&back);

    assert_int_equal(symtab_decode_all(blob_slice(&packed), &back), ST_OK);
    assert_int_equal(back.places.span_count, t.places.span_count);
    assert_int_equal(back.places.call_count, t.places.call_count);
    assert_memory_equal(back.places.calls, t.places.calls,
                        t.places.call_count * sizeof(*t.places.calls));
    for (uint32_t i = 0; i < t.places.span_count; i++) {
        const struct place_span *a = &t.places.spans[i], *b = &back.places.spans[i];

        assert_true(a->start == b->start && a->call == b->call && a->file == b->file &&
                    a->line == b->line);
    }
    symtab_deinit(&back);
    symtab_deinit(&t);
    blob_deinit(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offset_finds_its_line_and_every_function_inlined_there),
        cmocka_unit_test(an_answer_that_does_not_fit_keeps_its_inner_and_its_outermost_line),
        cmocka_unit_test(spans_that_say_the_same_become_one),
        cmocka_unit_test(ids_that_are_not_there_are_not_taken),
        cmocka_unit_test(the_bytes_are_the_golden_ones),
        cmocka_unit_test(the_golden_bytes_are_read),
        cmocka_unit_test(bad_places_are_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(random_places_survive_inside_a_symtab),
    };

    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
