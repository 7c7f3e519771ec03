/* dwarf_cursor: DWARF's numbers and pointers, whole and cut off. */
#include "agent/unwind/dwarf_cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define CODE UINT64_C(0x401000)

static void addresses_come_in_every_form(void **state)
{
    static const struct {
        uint8_t encoding;
        unsigned bytes;
        uint64_t minus;
    } forms[] = {{0x00, 8, 0}, {0x03, 4, 0},      {0x04, 8, 0},      {0x0b, 4, 0},
                 {0x0c, 8, 0}, {0x20, 8, 0x1111}, {0x33, 4, 0x2222}, {0x3b, 4, 0x2222}};

    (void)state;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        uint8_t bytes[8] = {0};
        uint64_t value = CODE - forms[i].minus;
        struct dwarf_cursor c;

        memcpy(bytes, &value, forms[i].bytes);
        c = dwarf_cursor((struct slice){bytes, forms[i].bytes}, 0);
        assert_int_equal(dwarf_pointer(&c, forms[i].encoding, (struct dwarf_bases){0x1111, 0x2222}),
                         CODE);
        assert_int_equal(dwarf_left(&c), 0);
    }
}

static void numbers_of_seven_bits_a_byte_are_read_signed_and_not(void **state)
{
    static const uint8_t bytes[] = {0x7f, 0x80, 0x01, 0xff, 0x7e, 0x80, 0x80, 0x00, 0x80};
    struct dwarf_cursor c = dwarf_cursor((struct slice){bytes, sizeof(bytes)}, 0);

    (void)state;
    assert_int_equal(dwarf_sleb(&c), -1);
    assert_int_equal(dwarf_uleb(&c), 128);
    assert_int_equal(dwarf_sleb(&c), -129);
    assert_int_equal(dwarf_uleb(&c), 0); /* padded */
    assert_int_equal(dwarf_uleb(&c), 0); /* cut off */
    assert_true(c.failed);
}

static void a_pointer_may_be_relative_to_itself(void **state)
{
    static const uint8_t bytes[] = {0xf0, 0xff, 0xff, 0xff};
    struct dwarf_cursor c = dwarf_cursor((struct slice){bytes, sizeof(bytes)}, CODE);

    (void)state;
    assert_int_equal(dwarf_pointer(&c, 0x1b, (struct dwarf_bases){0}), CODE - 16);
}

static void what_is_not_there_fails_for_good(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3, 4};
    struct dwarf_cursor c = dwarf_cursor((struct slice){bytes, sizeof(bytes)}, 0);

    (void)state;
    assert_int_equal(dwarf_unsigned(&c, 2), 0x201);
    assert_int_equal(dwarf_unsigned(&c, 4), 0);
    assert_int_equal(dwarf_unsigned(&c, 1), 0); /* though one is left */
    assert_string_equal(dwarf_text(&c), "");
    assert_int_equal(dwarf_bytes(&c, 1).length, 0);
    assert_true(c.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_come_in_every_form),
        cmocka_unit_test(a_pointer_may_be_relative_to_itself),
        cmocka_unit_test(numbers_of_seven_bits_a_byte_are_read_signed_and_not),
        cmocka_unit_test(what_is_not_there_fails_for_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
