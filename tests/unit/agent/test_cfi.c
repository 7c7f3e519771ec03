/* cfi: call frame information written by hand, one rule at a time, as rows. */
#include "agent/unwind/cfi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/cfi_bytes.h"
#include "tests/support/rng.h"

struct read_rows {
    struct abi_row *rows;
    uint32_t count;
};

static enum status read_section(const struct cfi_bytes *b, bool debug_frame, struct read_rows *out)
{
    struct cfi_section s = {
        .bytes = {b->bytes, b->length}, .address = CFI_SECTION, .debug_frame = debug_frame};
    struct row_list list;
    enum status st;

    row_list_init(&list, CFI_CODE, CFI_CODE + CFI_CODE_BYTES);
    cfi_read(&s, &list);
    st = row_list_finish(&list, &out->rows, &out->count);
    row_list_deinit(&list);
    return st;
}

static void put_usual_common(struct cfi_bytes *b)
{
    static const uint8_t encoding = CFI_POINTER_SELF_4;

    cfi_put_common(b, "zR", &encoding, 1);
}

static void expect_row(const struct read_rows *r, uint32_t i, uint32_t pc, enum abi_row_kind kind,
                       int cfa, int rbp)
{
    assert_true(i < r->count);
    assert_int_equal(r->rows[i].pc, pc);
    assert_int_equal(r->rows[i].kind, kind);
    assert_int_equal(r->rows[i].cfa, cfa);
    assert_int_equal(r->rows[i].rbp, rbp);
}

/* The rows of one function of 64 bytes with this program; the last is the gap behind it. */
static struct read_rows rows_of(const void *program, size_t bytes)
{
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    put_usual_common(&b);
    cfi_put_function(&b, CFI_CODE, 64, program, bytes);
    assert_int_equal(read_section(&b, false, &r), ST_OK);
    assert_int_equal(r.rows[r.count - 1].pc, 64);
    assert_int_equal(r.rows[r.count - 1].kind, ABI_ROW_GAP);
    return r;
}

static void expect_one(const void *program, size_t bytes, enum abi_row_kind kind, int cfa, int rbp)
{
    struct read_rows r = rows_of(program, bytes);

    assert_int_equal(r.count, 2);
    expect_row(&r, 0, 0, kind, cfa, rbp);
    free(r.rows);
}

#define EXPECT_ONE(kind, cfa, rbp, ...)                                 \
    do {                                                                \
        const uint8_t program[] = {__VA_ARGS__};                        \
        expect_one(program, sizeof(program), ABI_ROW_##kind, cfa, rbp); \
    } while (0)

/* ---- the usual prologues ---- */

static void a_frame_pointer_prologue_gives_three_rows(void **state)
{
    static const uint8_t program[] = {
        0x41, 0x0e, 16,   0x86, 2, /* push rbp: CFA = rsp + 16, rbp at CFA - 16 */
        0x43, 0x0d, 6, /* mov rsp, rbp: CFA = rbp + 16 */
        0x02, 20,   0x0c, 7,    8, 0xc6, /* leave: CFA = rsp + 8, rbp restored */
    };
    struct read_rows r = rows_of(program, sizeof(program));

    (void)state;
    assert_int_equal(r.count, 5);
    expect_row(&r, 0, 0, ABI_ROW_RSP, 8, 0);
    expect_row(&r, 1, 1, ABI_ROW_RSP, 16, -2);
    expect_row(&r, 2, 4, ABI_ROW_RBP, 16, -2);
    expect_row(&r, 3, 24, ABI_ROW_RSP, 8, 0);
    free(r.rows);
}

static void remembered_rules_come_back(void **state)
{
    static const uint8_t program[] = {0x41, 0x0e, 32, 0x86, 3,    0x42,
                                      0x0a, 0x0e, 8,  0xc6, 0x41, 0x0b};
    struct read_rows r = rows_of(program, sizeof(program));

    (void)state;
    assert_int_equal(r.count, 5);
    expect_row(&r, 1, 1, ABI_ROW_RSP, 32, -3);
    expect_row(&r, 2, 3, ABI_ROW_RSP, 8, 0);
    expect_row(&r, 3, 4, ABI_ROW_RSP, 32, -3);
    free(r.rows);
}

static void places_are_reached_by_every_width(void **state)
{
    static const uint8_t program[] = {0x02, 1,    0x0e, 16, 0x03, 1, 0,    0x0e,
                                      24,   0x04, 1,    0,  0,    0, 0x0e, 32};
    struct read_rows r = rows_of(program, sizeof(program));

    (void)state;
    assert_int_equal(r.count, 5);
    expect_row(&r, 3, 3, ABI_ROW_RSP, 32, 0);
    free(r.rows);
}

static void rows_that_say_the_same_are_one(void **state)
{
    static const uint8_t program[] = {0x41, 0x83, 2, 0x41, 0x8c, 3, 0x41, 0x2e, 16}; /* rbx, r12 */

    (void)state;
    expect_one(program, sizeof(program), ABI_ROW_RSP, 8, 0);
}

/* ---- far frames, odd registers ---- */

static void a_frame_over_32_kib_is_told_in_words(void **state)
{
    (void)state;
    EXPECT_ONE(RSP, 32767, 0, 0x0e, 0xff, 0xff, 0x01);
    EXPECT_ONE(RSP_FAR, 4096, 0, 0x0e, 0x80, 0x80, 0x02);
    EXPECT_ONE(RBP_FAR, 8192, 0, 0x0c, 6, 0x80, 0x80, 0x04);
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x0e, 0x81, 0x80, 0x02); /* no whole words */
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x0e, 0x80, 0x80, 0x20); /* 512 KiB */
}

static void a_frame_by_r10_is_told_and_by_others_not(void **state)
{
    (void)state;
    EXPECT_ONE(R10, 0, 0, 0x0c, 10, 0);
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x0c, 3, 16);
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x0c, 33, 16);
}

static void a_realigned_frame_has_its_cfa_and_rbp_by_rbp(void **state)
{
    (void)state;
    EXPECT_ONE(RBP_DEREF, -8, ABI_RBP_AT_RBP, 0x0f, 3, 0x76, 0x78, 0x06, /* *(rbp - 8) */
               0x10, 6, 2, 0x76, 0); /* rbp is saved at rbp + 0 */
}

static void assembly_fetches_the_cfa_from_the_stack(void **state)
{
    (void)state;
    EXPECT_ONE(RSP_DEREF, 40, 0, 0x0f, 3, 0x77, 40, 0x06);
    EXPECT_ONE(RSP_DEREF8, 40, 0, 0x0f, 5, 0x77, 40, 0x06, 0x23, 8);
    EXPECT_ONE(RBP_DEREF8, 16, 0, 0x0f, 5, 0x76, 16, 0x06, 0x38, 0x22);
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x0f, 5, 0x77, 40, 0x06, 0x23, 16);
    EXPECT_ONE(RSP, 24, 0, 0x0f, 4, 0x77, 16, 0x23, 8); /* no fetching: plain register + offset */
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x0f, 2, 0x77, 0x80); /* cut off */
}

static void linkage_tables_are_known_by_their_expression(void **state)
{
    (void)state;
    EXPECT_ONE(PLT, 11, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
    EXPECT_ONE(PLT, 9, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22);
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3e, 0x1a, 0x3b, 0x2a, 0x33, 0x24,
               0x22);
}

/* ---- where the caller's rbp is ---- */

static void an_rbp_that_a_row_cannot_hold_is_lost(void **state)
{
    (void)state;
    EXPECT_ONE(RSP, 8, -4, 0x05, 6, 4);
    EXPECT_ONE(RSP, 8, 3, 0x11, 6, 0x7d); /* above the CFA */
    EXPECT_ONE(RSP, 8, 4, 0x2f, 6, 4);
    EXPECT_ONE(RSP, 8, -127, 0x86, 127);
    EXPECT_ONE(RSP, 8, ABI_RBP_LOST, 0x05, 6, 0x80, 0x01);
    EXPECT_ONE(RSP, 8, ABI_RBP_LOST, 0x09, 6, 3); /* in another register */
    EXPECT_ONE(RSP, 8, ABI_RBP_LOST, 0x07, 6); /* undefined */
    EXPECT_ONE(RSP, 8, ABI_RBP_LOST, 0x14, 6, 2); /* a value, not a place */
    EXPECT_ONE(RSP, 8, ABI_RBP_LOST, 0x16, 6, 2, 0x77, 0);
    EXPECT_ONE(RSP, 8, ABI_RBP_LOST, 0x10, 6, 2, 0x77, 8); /* a place by rsp */
    EXPECT_ONE(RSP, 8, 0, 0x07, 6, 0x08, 6); /* the same after all */
    EXPECT_ONE(RSP, 8, 0, 0x86, 2, 0x06, 6); /* as at first */
}

/* ---- where the walk ends ---- */

static void an_undefined_return_address_is_the_root(void **state)
{
    (void)state;
    EXPECT_ONE(ROOT, 0, 0, 0x07, 16);
    EXPECT_ONE(UNSUPPORTED, 0, 0, 0x90, 2); /* a return address that no call put there */
}

static void a_signal_frame_needs_its_mark_and_its_layout(void **state)
{
    static const uint8_t encoding = CFI_POINTER_SELF_4;
    static const uint8_t program[] = {0x0f, 4, 0x77, 0xa0, 0x01, 0x06};
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    cfi_put_common(&b, "zRS", &encoding, 1);
    cfi_put_function(&b, CFI_CODE, 8, program, sizeof(program));
    assert_int_equal(read_section(&b, false, &r), ST_OK);
    expect_row(&r, 0, 0, ABI_ROW_SIGNAL, 0, 0);
    free(r.rows);
    expect_one(program, sizeof(program), ABI_ROW_RSP_DEREF, 160, 0);
}

/* ---- functions beside each other ---- */

static void code_between_functions_is_a_gap(void **state)
{
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    put_usual_common(&b);
    cfi_put_function(&b, CFI_CODE + 0x40, 0x10, NULL, 0);
    cfi_put_function(&b, CFI_CODE + 0x10, 0x20, NULL, 0);
    assert_int_equal(read_section(&b, false, &r), ST_OK);
    assert_int_equal(r.count, 5);
    expect_row(&r, 0, 0, ABI_ROW_GAP, 0, 0);
    expect_row(&r, 1, 0x10, ABI_ROW_RSP, 8, 0);
    expect_row(&r, 2, 0x30, ABI_ROW_GAP, 0, 0);
    expect_row(&r, 3, 0x40, ABI_ROW_RSP, 8, 0);
    expect_row(&r, 4, 0x50, ABI_ROW_GAP, 0, 0);
    free(r.rows);
}

static void padding_between_functions_is_no_gap(void **state)
{
    static const uint8_t program[] = {0x41, 0x0e, 16};
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    put_usual_common(&b);
    cfi_put_function(&b, CFI_CODE, 0x11, program, sizeof(program));
    cfi_put_function(&b, CFI_CODE + 0x20, 0x10, NULL, 0);
    cfi_put_function(&b, CFI_CODE + 0x40, 0x10, NULL, 0);
    assert_int_equal(read_section(&b, false, &r), ST_OK);
    assert_int_equal(r.count, 6);
    expect_row(&r, 1, 1, ABI_ROW_RSP, 16, 0);
    expect_row(&r, 2, 0x20, ABI_ROW_RSP, 8, 0);
    expect_row(&r, 3, 0x30, ABI_ROW_GAP, 0, 0);
    free(r.rows);
}

static void of_functions_that_overlap_the_first_keeps_its_code(void **state)
{
    static const uint8_t early[] = {0x0e, 16}, late[] = {0x0e, 24, 0x50, 0x0e, 32};
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    put_usual_common(&b);
    cfi_put_function(&b, CFI_CODE + 0x10, 0x40, late, sizeof(late)); /* 24, from 0x20 on 32 */
    cfi_put_function(&b, CFI_CODE, 0x18, early, sizeof(early));
    cfi_put_function(&b, CFI_CODE + 0x30, 0x8, early, sizeof(early)); /* all in the other */
    assert_int_equal(read_section(&b, false, &r), ST_OK);
    assert_int_equal(r.count, 4);
    expect_row(&r, 0, 0, ABI_ROW_RSP, 16, 0);
    expect_row(&r, 1, 0x18, ABI_ROW_RSP, 24, 0);
    expect_row(&r, 2, 0x20, ABI_ROW_RSP, 32, 0);
    expect_row(&r, 3, 0x50, ABI_ROW_GAP, 0, 0);
    free(r.rows);
}

static void a_function_outside_the_code_is_left_out(void **state)
{
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    put_usual_common(&b);
    cfi_put_function(&b, CFI_CODE - 0x10, 0x20, NULL, 0);
    cfi_put_function(&b, CFI_CODE + CFI_CODE_BYTES, 0x20, NULL, 0);
    assert_int_equal(read_section(&b, false, &r), ST_NOT_FOUND);
}

/* ---- encodings ---- */

static void augmentation_that_no_walk_needs_is_stepped_over(void **state)
{
    static const uint8_t data[] = {0x9b, 1,
                                   2,    3,
                                   4, /* personality, indirect */
                                   0x1b, /* language data's encoding */ CFI_POINTER_SELF_4};
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    cfi_put_common(&b, "zPLR", data, sizeof(data));
    cfi_put_function(&b, CFI_CODE, 8, NULL, 0);
    assert_int_equal(read_section(&b, false, &r), ST_OK);
    expect_row(&r, 0, 0, ABI_ROW_RSP, 8, 0);
    free(r.rows);
}

static void an_address_behind_a_pointer_is_refused(void **state)
{
    static const uint8_t encoding = 0x80 | CFI_POINTER_SELF_4;
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    cfi_put_common(&b, "zR", &encoding, 1);
    cfi_put_function(&b, CFI_CODE, 8, NULL, 0);
    assert_int_equal(read_section(&b, false, &r), ST_NOT_FOUND);
}

/* ---- .debug_frame ---- */

static void put_debug_common(struct cfi_bytes *b, bool wide)
{
    static const uint8_t content[] = {4,    0,  8, 0,         1,
                                      0x78, 16, /* version 4, 8-byte addresses */
                                      0x0c, 7,  8, 0x80 | 16, 1};

    if (wide)
        cfi_put_number(b, UINT32_MAX, 4);
    cfi_put_number(b, (wide ? 8 : 4) + sizeof(content), wide ? 8 : 4);
    cfi_put_number(b, UINT64_MAX, wide ? 8 : 4);
    cfi_put(b, content, sizeof(content));
}

static void put_debug_function(struct cfi_bytes *b, bool wide)
{
    static const uint8_t program[] = {0x41, 0x0e, 16};

    if (wide)
        cfi_put_number(b, UINT32_MAX, 4);
    cfi_put_number(b, (wide ? 8 : 4) + 16 + sizeof(program), wide ? 8 : 4);
    cfi_put_number(b, 0, wide ? 8 : 4); /* its common entry's offset */
    cfi_put_number(b, CFI_CODE, 8);
    cfi_put_number(b, 0x20, 8);
    cfi_put(b, program, sizeof(program));
}

static void debug_frame_is_read_in_both_formats(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct cfi_bytes b = {0};
        struct read_rows r = {0};

        put_debug_common(&b, wide != 0);
        put_debug_function(&b, wide != 0);
        assert_int_equal(read_section(&b, true, &r), ST_OK);
        assert_int_equal(r.count, 3);
        expect_row(&r, 0, 0, ABI_ROW_RSP, 8, 0);
        expect_row(&r, 1, 1, ABI_ROW_RSP, 16, 0);
        expect_row(&r, 2, 0x20, ABI_ROW_GAP, 0, 0);
        free(r.rows);
    }
}

/* ---- bad input ---- */

static void a_program_that_makes_no_sense_spoils_only_its_rest(void **state)
{
    static const uint8_t unknown[] = {0x41, 0x0e, 16, 0x41, 0x3f, 0x41, 0x0e, 24};
    static const uint8_t unremembered[] = {0x41, 0x0e, 16, 0x41, 0x0b};
    static const uint8_t backwards[] = {0x41, 0x0e, 16, 0x41, 0x01, 0, 0, 0xe0, 0xff};
    struct read_rows r = rows_of(unknown, sizeof(unknown));

    (void)state;
    assert_int_equal(r.count, 4);
    expect_row(&r, 1, 1, ABI_ROW_RSP, 16, 0);
    expect_row(&r, 2, 2, ABI_ROW_UNSUPPORTED, 0, 0);
    free(r.rows);
    r = rows_of(unremembered, sizeof(unremembered));
    expect_row(&r, 2, 2, ABI_ROW_UNSUPPORTED, 0, 0);
    free(r.rows);
    r = rows_of(backwards, sizeof(backwards));
    expect_row(&r, 2, 2, ABI_ROW_UNSUPPORTED, 0, 0);
    free(r.rows);
}

static void an_entry_that_makes_no_sense_is_left_out_alone(void **state)
{
    struct cfi_bytes b = {0};
    struct read_rows r = {0};

    (void)state;
    put_usual_common(&b);
    cfi_begin(&b, 0x12345); /* its common entry lies before the section */
    cfi_put_number(&b, 0, 8);
    cfi_end(&b);
    cfi_put_number(&b, 0, 4); /* no length */
    cfi_put_function(&b, CFI_CODE, 8, NULL, 0);
    cfi_put_number(&b, 0x1000, 4); /* a length beyond the end */
    assert_int_equal(read_section(&b, false, &r), ST_OK);
    assert_int_equal(r.count, 2);
    free(r.rows);
}

static void damaged_bytes_are_read_without_harm(void **state)
{
    static const uint8_t program[] = {0x41, 0x0e, 16, 0x86, 2,    0x43, 0x0d, 6,    0x0a, 0x4f,
                                      0x0c, 7,    8,  0x0b, 0x0f, 3,    0x76, 0x78, 0x06};
    struct rng rng = rng_new();

    (void)state;
    for (int round = 0; round < 20000; round++) {
        struct cfi_bytes b = {0};
        struct read_rows r = {0};

        put_usual_common(&b);
        cfi_put_function(&b, CFI_CODE, 0x40, program, sizeof(program));
        cfi_put_function(&b, CFI_CODE + 0x40, 0x40, program, sizeof(program));
        for (int i = 0; i < 3; i++)
            b.bytes[rng_below(&rng, (uint32_t)b.length)] = (uint8_t)rng_u64(&rng);
        if (read_section(&b, false, &r) != ST_OK)
            continue;
        for (uint32_t i = 1; i < r.count; i++)
            assert_true(r.rows[i - 1].pc < r.rows[i].pc);
        free(r.rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_pointer_prologue_gives_three_rows),
        cmocka_unit_test(remembered_rules_come_back),
        cmocka_unit_test(places_are_reached_by_every_width),
        cmocka_unit_test(rows_that_say_the_same_are_one),
        cmocka_unit_test(a_frame_over_32_kib_is_told_in_words),
        cmocka_unit_test(a_frame_by_r10_is_told_and_by_others_not),
        cmocka_unit_test(a_realigned_frame_has_its_cfa_and_rbp_by_rbp),
        cmocka_unit_test(assembly_fetches_the_cfa_from_the_stack),
        cmocka_unit_test(linkage_tables_are_known_by_their_expression),
        cmocka_unit_test(an_rbp_that_a_row_cannot_hold_is_lost),
        cmocka_unit_test(an_undefined_return_address_is_the_root),
        cmocka_unit_test(a_signal_frame_needs_its_mark_and_its_layout),
        cmocka_unit_test(code_between_functions_is_a_gap),
        cmocka_unit_test(padding_between_functions_is_no_gap),
        cmocka_unit_test(of_functions_that_overlap_the_first_keeps_its_code),
        cmocka_unit_test(a_function_outside_the_code_is_left_out),
        cmocka_unit_test(augmentation_that_no_walk_needs_is_stepped_over),
        cmocka_unit_test(an_address_behind_a_pointer_is_refused),
        cmocka_unit_test(debug_frame_is_read_in_both_formats),
        cmocka_unit_test(a_program_that_makes_no_sense_spoils_only_its_rest),
        cmocka_unit_test(an_entry_that_makes_no_sense_is_left_out_alone),
        cmocka_unit_test(damaged_bytes_are_read_without_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
