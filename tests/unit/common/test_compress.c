/* compress: one whole, undamaged frame of a bounded size comes back; anything else is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/compress.h"

static const char poem[] = "on and on and on and on and on and on and on and on and on and on";

static struct slice slice_of(const void *bytes, size_t length)
{
    return (struct slice){bytes, length};
}

static struct blob packed_poem(void)
{
    struct blob packed = {0};

    assert_int_equal(compress_blob(slice_of(poem, sizeof(poem)), &packed), ST_OK);
    return packed;
}

static void bytes_survive(void **state)
{
    struct blob packed = packed_poem(), plain = {0};

    (void)state;
    assert_true(packed.length < sizeof(poem));
    assert_int_equal(decompress_blob(blob_slice(&packed), sizeof(poem), &plain), ST_OK);
    assert_int_equal(plain.length, sizeof(poem));
    assert_memory_equal(plain.bytes, poem, sizeof(poem));
    blob_deinit(&plain);
    blob_deinit(&packed);
    blob_deinit(&packed);
}

static void nothing_survives_too(void **state)
{
    struct blob packed = {0}, plain = {0};

    (void)state;
    assert_int_equal(compress_blob(slice_of("", 0), &packed), ST_OK);
    assert_int_equal(decompress_blob(blob_slice(&packed), 0, &plain), ST_OK);
    assert_int_equal(plain.length, 0);
    blob_deinit(&plain);
    blob_deinit(&packed);
}

static void a_frame_over_the_limit_is_refused(void **state)
{
    struct blob packed = packed_poem(), plain = {0};

    (void)state;
    assert_int_equal(decompress_blob(blob_slice(&packed), sizeof(poem) - 1, &plain), ST_TOO_BIG);
    assert_null(plain.bytes);
    blob_deinit(&packed);
}

static void a_bomb_is_refused_by_its_claim(void **state)
{
    enum { BOMB = 64 << 20 };
    uint8_t *zeros = calloc(1, BOMB);
    struct blob packed = {0}, plain = {0};

    (void)state;
    assert_int_equal(compress_blob(slice_of(zeros, BOMB), &packed), ST_OK);
    assert_true(packed.length < 8192);
    assert_int_equal(decompress_blob(blob_slice(&packed), BOMB - 1, &plain), ST_TOO_BIG);
    blob_deinit(&packed);
    free(zeros);
}

static void a_claim_that_no_frame_of_its_length_can_keep_is_refused(void **state)
{
    /* Magic, single segment with a 4-byte size of 256 MiB, one empty last block. */
    static const uint8_t liar[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x10, 1, 0, 0};
    struct blob plain = {0};

    (void)state;
    assert_int_equal(decompress_blob(slice_of(liar, sizeof(liar)), 512 << 20, &plain), ST_INVALID);
    assert_null(plain.bytes);
}

static void a_frame_without_a_size_is_refused(void **state)
{
    /* Magic, descriptor without size or single segment, window, one raw last block "a". */
    static const uint8_t sizeless[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 0x09, 0, 0, 'a'};
    struct blob plain = {0};

    (void)state;
    assert_int_equal(decompress_blob(slice_of(sizeless, sizeof(sizeless)), 100, &plain),
                     ST_INVALID);
}

static void a_skippable_frame_is_refused(void **state)
{
    static const uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 'a'};
    struct blob plain = {0};

    (void)state;
    assert_int_equal(decompress_blob(slice_of(skippable, sizeof(skippable)), 100, &plain),
                     ST_INVALID);
}

static void every_truncation_is_refused(void **state)
{
    struct blob packed = packed_poem(), plain = {0};

    (void)state;
    for (size_t length = 0; length < packed.length; length++)
        assert_int_equal(decompress_blob(slice_of(packed.bytes, length), 1000, &plain), ST_INVALID);
    assert_null(plain.bytes);
    blob_deinit(&packed);
}

static void every_flipped_bit_is_refused(void **state)
{
    struct blob packed = packed_poem(), plain = {0};

    (void)state;
    for (size_t bit = 0; bit < 8 * packed.length; bit++) {
        packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (decompress_blob(blob_slice(&packed), 1000, &plain) == ST_OK) {
            /* A header bit may change how the frame is laid out, never what it says. */
            assert_memory_equal(plain.bytes, poem, sizeof(poem));
            blob_deinit(&plain);
        }
        packed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    blob_deinit(&packed);
}

static void two_frames_or_trailing_bytes_are_refused(void **state)
{
    struct blob packed = packed_poem(), plain = {0};
    uint8_t *twice = calloc(2, packed.length);

    (void)state;
    memcpy(twice, packed.bytes, packed.length);
    memcpy(twice + packed.length, packed.bytes, packed.length);
    assert_int_equal(decompress_blob(slice_of(twice, 2 * packed.length), 1000, &plain), ST_INVALID);
    assert_int_equal(decompress_blob(slice_of(twice, packed.length + 1), 1000, &plain), ST_INVALID);
    free(twice);
    blob_deinit(&packed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_survive),
        cmocka_unit_test(nothing_survives_too),
        cmocka_unit_test(a_frame_over_the_limit_is_refused),
        cmocka_unit_test(a_bomb_is_refused_by_its_claim),
        cmocka_unit_test(a_claim_that_no_frame_of_its_length_can_keep_is_refused),
        cmocka_unit_test(a_frame_without_a_size_is_refused),
        cmocka_unit_test(a_skippable_frame_is_refused),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(every_flipped_bit_is_refused),
        cmocka_unit_test(two_frames_or_trailing_bytes_are_refused),
    };

    return cmocka_run_group_tests_name("compress", tests, NULL, NULL);
}
