/* chunk: whatever bytes come, they are a valid chunk or refused with a reason.
 * Most cases are the golden bytes with one patch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/chunk.h"
#include "tests/support/golden_chunk.h"
#include "tests/support/hex.h"

/* ---- helpers ---- */

static enum status decode_plain(struct slice plain, enum chunk_form form, struct chunk *out,
                                const char **why)
{
    struct blob packed = {0};
    enum status st;

    assert_int_equal(compress_blob(plain, &packed), ST_OK);
    st = chunk_decode(blob_slice(&packed), form, out, why);
    blob_deinit(&packed);
    return st;
}

/* The golden plain bytes with the only occurrence of `from` replaced by `to`; hex digits. */
static struct blob patched(const char *from, const char *to)
{
    struct blob golden = hex_bytes(golden_chunk_plain), old = hex_bytes(from), new = hex_bytes(to);
    uint8_t *at = memmem(golden.bytes, golden.length, old.bytes, old.length);
    struct blob out = {.bytes = calloc(1, golden.length + new.length)};
    size_t before, after;

    assert_non_null(at);
    assert_null(
        memmem(at + 1, (size_t)(golden.bytes + golden.length - at - 1), old.bytes, old.length));
    before = (size_t)(at - golden.bytes);
    after = golden.length - before - old.length;
    memcpy(out.bytes, golden.bytes, before);
    memcpy(out.bytes + before, new.bytes, new.length);
    memcpy(out.bytes + before + new.length, at + old.length, after);
    out.length = before + new.length + after;
    blob_deinit(&new);
    blob_deinit(&old);
    blob_deinit(&golden);
    return out;
}

static void assert_patch(const char *from, const char *to, enum status want)
{
    struct blob plain = patched(from, to);
    struct chunk c = {0};
    const char *why = NULL;
    enum status st = decode_plain(blob_slice(&plain), CHUNK_WIRE, &c, &why);

    if (st != want)
        fail_msg("%s -> %s: %s (%s)", from, to, status_text(st), why != NULL ? why : "");
    if (want != ST_OK) {
        assert_non_null(why);
        assert_null(c.samples.ticks);
    }
    chunk_deinit(&c);
    blob_deinit(&plain);
}

/* ---- rules, in what is read ---- */

static void a_lying_delivered_count_is_refused(void **state)
{
    (void)state;
    assert_patch("0205 03 cd0186", "0206 03 cd0186", ST_INVALID);
    assert_patch("0205 03 cd0186", "0204 03 cd0186", ST_INVALID);
    assert_patch("0205 03 cd0186", "02cfffffffffffffffff 03 cd0186", ST_INVALID);
}

static void a_ledger_that_does_not_balance_is_refused(void **state)
{
    (void)state;
    assert_patch("0d85 01cd0190", "0d85 01cd0191", ST_INVALID);
    assert_patch("0d85 01cd0190", "0d85 01cd018f", ST_INVALID);
    assert_patch("0596 010002000000", "0596 cf1000000000000000 0002000000", ST_INVALID);
    /* Parts whose sum wraps to what is expected. */
    assert_patch("03cd0186 0402 0596 010002000000",
                 "03cd0186 0402 0596 cfffffffffffffffff 0202000000", ST_INVALID);
    assert_patch("03cd0186 0402", "03cfffffffffffffffff 04cd0189", ST_INVALID);
}

/* 4 CPUs for 10 s at 99 Hz: twice that and 1000 is 8920. Of these all but 10 are idle. */
static void a_ledger_that_expects_what_cannot_be_is_refused(void **state)
{
    (void)state;
    assert_patch("0d85 01cd0190 0205 03cd0186", "0d85 01cd22d7 0205 03cd22cd", ST_OK);
    assert_patch("0d85 01cd0190 0205 03cd0186", "0d85 01cd22d8 0205 03cd22ce", ST_OK);
    assert_patch("0d85 01cd0190 0205 03cd0186", "0d85 01cd22d9 0205 03cd22cf", ST_INVALID);
    assert_patch("0d85 01cd0190 0205 03cd0186 0402 0596 010002000000",
                 "0d85 01cf1000000000000008 0205 0300 0400 0596 cf1000000000000003 0000000000",
                 ST_INVALID);
    assert_patch("0c04 0d85", "0ccd2000 0d85", ST_OK);
    assert_patch("0c04 0d85", "0ccd2001 0d85", ST_INVALID); /* more CPUs than Linux can have */
}

static void counts_that_do_not_add_up_are_refused(void **state)
{
    (void)state;
    assert_patch("c403 030101", "c403 030102", ST_INVALID); /* a group too large */
    assert_patch("c403 030101", "c403 030100", ST_INVALID); /* an empty group */
    assert_patch("c403 030101", "c407 0301 ffffffff0f", ST_INVALID);
    assert_patch("c403 030101", "c40c 0301 80808080808080808001", ST_INVALID);
    assert_patch("05 92 05 c407", "05 92 04 c407", ST_INVALID); /* ticks left over */
    assert_patch("05 92 05 c407", "05 92 06 c407", ST_INVALID); /* ticks too few */
    assert_patch("05 92 05 c407", "05 92 ce00100001 c407", ST_TOO_BIG);
    assert_patch("05 92 05 c407", "05 92 ce00100000 c407", ST_INVALID); /* more than bytes */
}

static void ticks_outside_the_window_are_refused(void **state)
{
    (void)state;
    assert_patch("006565 a08d06 05", "006565 9f8d06 05", ST_OK);
    assert_patch("006565 a08d06 05", "006565 a18d06 05", ST_INVALID);
    assert_patch("c407 006565 a08d06 05", "c409 006565 ffffffff1f 05", ST_INVALID);
}

static void indexes_outside_their_tables_are_refused(void **state)
{
    (void)state;
    assert_patch("c404 00010100", "c404 00020100", ST_INVALID); /* a parent before the first */
    assert_patch("c404 01020003", "c404 01020005", ST_INVALID); /* frame of a node */
    assert_patch("c403 040203", "c403 010203", ST_INVALID); /* leaf of -1 */
    assert_patch("c403 040203", "c403 080203", ST_INVALID); /* leaf */
    assert_patch("c403 000202", "c403 000204", ST_INVALID); /* thread of a group */
    assert_patch("c403 000002", "c403 000004", ST_INVALID); /* process of a thread */
    assert_patch("c401 04 c401 05", "c401 07 c401 05", ST_INVALID);
    assert_patch("c401 04 c401 05", "c401 04 c401 07", ST_INVALID);
    assert_patch("c402 0202", "c402 0210", ST_INVALID); /* path of a binary */
    assert_patch("c402 0300", "c402 0900", ST_INVALID); /* name of a process */
    assert_patch("c403 040003", "c403 090003", ST_INVALID); /* name of a thread */
}

static void frames_are_of_a_known_kind_with_what_it_needs(void **state)
{
    (void)state;
    assert_patch("c405 0201010304", "c405 0201010305", ST_INVALID); /* no such kind */
    assert_patch("c405 0201010304", "c405 0201010104", ST_INVALID); /* native, but named */
    assert_patch("c405 0201010304", "c405 0301010304", ST_INVALID); /* named, with a binary */
    assert_patch("c409 80408040209f800100", "c409 80408040209f800102", ST_INVALID); /* offset */
}

static void a_window_and_its_weights_make_sense(void **state)
{
    (void)state;
    assert_patch("0207 03cf1122", "0200 03cf1122", ST_INVALID); /* sequence */
    assert_patch("06cf00000002540be400", "06cf0000008bb2c97001", ST_TOO_BIG); /* over 600 s */
    assert_patch("06cf00000002540be400", "06cfffffffffffffffff", ST_INVALID); /* wraps */
    assert_patch("07cf17979cfe362a0000", "07cf8000000000000000", ST_INVALID); /* year 2262 */
    assert_patch("0901 0ace009a2112", "0903 0ace009a2112", ST_INVALID); /* event */
    assert_patch("0901 0ace009a2112", "0901 0a00", ST_INVALID); /* period */
    assert_patch("0bcb3fe0000000000000", "0bcb0000000000000000", ST_INVALID); /* inclusion */
    assert_patch("0bcb3fe0000000000000", "0bcb3ff0000000000001", ST_INVALID); /* above 1 */
    assert_patch("0bcb3fe0000000000000", "0bcb3e00000000000000", ST_INVALID); /* below 1e-6 */
    assert_patch("c410 0102030405060708090a0b0c0d0e0f10", "c410 00000000000000000000000000000000",
                 ST_INVALID);
    assert_patch("c410 0102030405060708090a0b0c0d0e0f10", "c40f 0102030405060708090a0b0c0d0e0f",
                 ST_INVALID);
}

static void unknown_causes_of_loss_are_not_swept_under(void **state)
{
    (void)state;
    assert_patch("0596 010002000000", "0593 010002", ST_OK);
    assert_patch("0596 010002000000", "0597 01000200000000", ST_OK);
    assert_patch("0596 010002000000", "0597 01000200000001", ST_UNSUPPORTED);
}

/* 33 ends, one more than there are numbers for; the last one's count follows. */
#define ENDS_33 "0fdc0021 0103010000000000000000000000000000000000000000000000000000000000"

static void ends_of_walks_are_of_delivered_samples_and_newer_ones_are_kept(void **state)
{
    struct blob plain = patched("0f93 010301", "0f9a 01030000000000000001");
    struct chunk c = {0};

    (void)state;
    assert_int_equal(decode_plain(blob_slice(&plain), CHUNK_WIRE, &c, NULL), ST_OK);
    assert_int_equal(walks_other(&c.info.walks), 1);
    assert_int_equal(walks_sum(&c.info.walks), 5);
    assert_int_equal(walks_user(&c.info.walks), 4);
    assert_int_equal(c.info.walks.count[WALK_ROOT], 3);
    chunk_deinit(&c);
    blob_deinit(&plain);
    assert_patch("0f93 010301", "0f90", ST_OK);
    assert_patch("0f93 010301", "0f93 010302", ST_INVALID);
    assert_patch("0f93 010301", ENDS_33 "00", ST_OK);
    assert_patch("0f93 010301", ENDS_33 "01", ST_UNSUPPORTED);
}

static void strings_are_text_each_with_its_end(void **state)
{
    (void)state;
    assert_patch("c438 5b6b65", "c438 ff6b65", ST_INVALID);
    assert_patch("c438 5b6b65", "c438 5b0065", ST_INVALID); /* one text more than counted */
    assert_patch("0192 07 c438", "0192 08 c438", ST_INVALID);
    assert_patch("6a69743a6600", "6a69743a6601", ST_INVALID); /* no NUL at the end */
}

static void build_ids_have_at_most_32_bytes(void **state)
{
    (void)state;
    assert_patch("c406 04deadbeef00", "c406 05deadbeef00", ST_INVALID);
    assert_patch("c406 04deadbeef00", "c406 21deadbeef00", ST_TOO_BIG);
}

static void what_a_newer_writer_adds_is_skipped_to_the_depth_limit(void **state)
{
    struct blob plain = patched("84 0101 02 8f", "85 0101 02 8f");
    struct chunk c = {0};

    (void)state;
    assert_patch("0606 0707", "0606 0700", ST_OK);
    assert_patch("05 92 05 c407 006565a08d0605", "05 94 05 c407 006565a08d0605 c401 01 c0", ST_OK);
    assert_patch("0e 87 0101 0202", "0e 87 0101 0881c0c0", ST_INVALID); /* keys descend after it */
    assert_patch("0606 0707", "0606 08 9191919191919191 c0", ST_OK);
    assert_patch("0606 0707", "0606 08 919191919191919191 c0", ST_TOO_BIG);

    plain.bytes = realloc(plain.bytes, plain.length + 3);
    memcpy(plain.bytes + plain.length, "\x09\x91\xc0", 3);
    plain.length += 3;
    assert_int_equal(decode_plain(blob_slice(&plain), CHUNK_WIRE, &c, NULL), ST_OK);
    chunk_deinit(&c);
    blob_deinit(&plain);
}

static void another_layout_is_unsupported_and_none_is_malformed(void **state)
{
    (void)state;
    assert_patch("84 0101 02 8f", "84 0102 02 8f", ST_UNSUPPORTED);
    assert_patch("84 0101 02 8f", "83 02 8f", ST_INVALID);
}

static void a_key_twice_is_refused(void **state)
{
    (void)state;
    assert_patch("0505 0606 0707", "0505 0606 0607", ST_INVALID);
    assert_patch("04 85 01 93", "03 85 01 93", ST_INVALID);
}

static void a_stored_chunk_with_a_dictionary_is_refused(void **state)
{
    struct blob packed = hex_bytes(golden_chunk_packed);
    struct chunk c = {0};

    (void)state;
    assert_int_equal(chunk_decode(blob_slice(&packed), CHUNK_STORED, &c, NULL), ST_INVALID);
    blob_deinit(&packed);
}

/* ---- hostile bytes ---- */

static void every_truncation_is_refused(void **state)
{
    struct blob plain = hex_bytes(golden_chunk_plain), packed = hex_bytes(golden_chunk_packed);
    struct chunk c = {0};

    (void)state;
    for (size_t n = 0; n < plain.length; n++)
        assert_int_equal(decode_plain((struct slice){plain.bytes, n}, CHUNK_WIRE, &c, NULL),
                         ST_INVALID);
    for (size_t n = 0; n < packed.length; n++)
        assert_int_equal(chunk_decode((struct slice){packed.bytes, n}, CHUNK_WIRE, &c, NULL),
                         ST_INVALID);
    assert_null(c.samples.ticks);
    blob_deinit(&packed);
    blob_deinit(&plain);
}

static void trailing_bytes_are_refused(void **state)
{
    struct blob plain = hex_bytes(golden_chunk_plain);
    struct chunk c = {0};

    (void)state;
    plain.bytes = realloc(plain.bytes, plain.length + 1);
    plain.bytes[plain.length++] = 0xc0;
    assert_int_equal(decode_plain(blob_slice(&plain), CHUNK_WIRE, &c, NULL), ST_INVALID);
    blob_deinit(&plain);
}

static void write_and_read_again(const struct chunk *c)
{
    struct blob packed = {0};
    struct chunk again = {0};

    assert_int_equal(chunk_encode(c, CHUNK_WIRE, &packed), ST_OK);
    assert_int_equal(chunk_decode(blob_slice(&packed), CHUNK_WIRE, &again, NULL), ST_OK);
    chunk_deinit(&again);
    blob_deinit(&packed);
}

/* Every flipped bit ends in a refusal, or in a chunk that is as valid as any. */
static void every_flipped_bit_is_refused_or_valid(void **state)
{
    struct blob plain = hex_bytes(golden_chunk_plain);
    unsigned refused = 0;

    (void)state;
    for (size_t bit = 0; bit < 8 * plain.length; bit++) {
        struct chunk c = {0};

        plain.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (decode_plain(blob_slice(&plain), CHUNK_WIRE, &c, NULL) == ST_OK)
            write_and_read_again(&c);
        else
            refused++;
        chunk_deinit(&c);
        plain.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(refused > plain.length);
    blob_deinit(&plain);
}

static void a_bomb_or_a_giant_is_refused_unopened(void **state)
{
    uint8_t *zeros = calloc(1, CHUNK_PLAIN_MAX + 1);
    struct blob packed = {0};
    struct chunk c = {0};
    struct chunk_info chunk_info;

    (void)state;
    assert_int_equal(compress_blob((struct slice){zeros, CHUNK_PLAIN_MAX + 1}, &packed), ST_OK);
    assert_int_equal(chunk_decode(blob_slice(&packed), CHUNK_WIRE, &c, NULL), ST_TOO_BIG);
    assert_int_equal(chunk_decode_info(blob_slice(&packed), &chunk_info), ST_TOO_BIG);
    assert_int_equal(
        chunk_decode((struct slice){zeros, CHUNK_PACKED_MAX + 1}, CHUNK_WIRE, &c, NULL),
        ST_TOO_BIG);
    blob_deinit(&packed);
    free(zeros);
}

static void the_info_alone_is_read_as_strictly(void **state)
{
    struct blob good = hex_bytes(golden_chunk_plain), bad = patched("0207 03cf", "0200 03cf");
    struct blob packed = {0};
    struct chunk_info chunk_info = {.sequence = 99};

    (void)state;
    assert_int_equal(compress_blob(blob_slice(&bad), &packed), ST_OK);
    assert_int_equal(chunk_decode_info(blob_slice(&packed), &chunk_info), ST_INVALID);
    assert_int_equal(chunk_info.sequence, 99);
    blob_deinit(&packed);
    assert_int_equal(compress_blob((struct slice){good.bytes, good.length - 1}, &packed), ST_OK);
    assert_int_equal(chunk_decode_info(blob_slice(&packed), &chunk_info), ST_INVALID);
    blob_deinit(&packed);
    blob_deinit(&bad);
    blob_deinit(&good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lying_delivered_count_is_refused),
        cmocka_unit_test(a_ledger_that_does_not_balance_is_refused),
        cmocka_unit_test(a_ledger_that_expects_what_cannot_be_is_refused),
        cmocka_unit_test(counts_that_do_not_add_up_are_refused),
        cmocka_unit_test(ticks_outside_the_window_are_refused),
        cmocka_unit_test(indexes_outside_their_tables_are_refused),
        cmocka_unit_test(frames_are_of_a_known_kind_with_what_it_needs),
        cmocka_unit_test(a_window_and_its_weights_make_sense),
        cmocka_unit_test(unknown_causes_of_loss_are_not_swept_under),
        cmocka_unit_test(ends_of_walks_are_of_delivered_samples_and_newer_ones_are_kept),
        cmocka_unit_test(strings_are_text_each_with_its_end),
        cmocka_unit_test(build_ids_have_at_most_32_bytes),
        cmocka_unit_test(what_a_newer_writer_adds_is_skipped_to_the_depth_limit),
        cmocka_unit_test(another_layout_is_unsupported_and_none_is_malformed),
        cmocka_unit_test(a_key_twice_is_refused),
        cmocka_unit_test(a_stored_chunk_with_a_dictionary_is_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(trailing_bytes_are_refused),
        cmocka_unit_test(every_flipped_bit_is_refused_or_valid),
        cmocka_unit_test(a_bomb_or_a_giant_is_refused_unopened),
        cmocka_unit_test(the_info_alone_is_read_as_strictly),
    };

    return cmocka_run_group_tests_name("chunk_refusals", tests, NULL, NULL);
}
