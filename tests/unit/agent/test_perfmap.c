/* perfmap: lines of perf maps as node, CPython and the JVM write them, and as nobody should. */
#include "agent/symbols/perfmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct perfmap *map;

static int make(void **state)
{
    (void)state;
    return perfmap_new(&map) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    perfmap_free(map);
    return 0;
}

static size_t add(const char *text)
{
    return perfmap_add(map, (struct slice){(const uint8_t *)text, strlen(text)});
}

static void expect(uint64_t address, const char *name)
{
    if (name == NULL)
        assert_null(perfmap_find(map, address));
    else
        assert_string_equal(perfmap_find(map, address), name);
}

static void each_runtime_keeps_its_own_way_of_naming(void **state)
{
    (void)state;
    add("7f0000001000 80 JS:*spin /srv/app.js:3:14\n"
        "7f0000002000 80 JS:~main /srv/app.js:9:1\n"
        "7f0000003000 b py::work:/srv/app.py\n"
        "0x00007f0000004000 0x40 void Demo.work(int)\n"
        "7F0000005000 20 LDemo;::work\r\n");
    expect(0x7f0000001000, "JS:*spin /srv/app.js:3:14");
    expect(0x7f000000107f, "JS:*spin /srv/app.js:3:14");
    expect(0x7f0000001080, NULL);
    expect(0x7f0000002000, "JS:~main /srv/app.js:9:1");
    expect(0x7f000000300a, "py::work:/srv/app.py");
    expect(0x7f0000004010, "void Demo.work(int)");
    expect(0x7f0000005000, "LDemo;::work");
    expect(0, NULL);
    expect(UINT64_MAX, NULL);
}

static void the_newest_line_wins_over_all_that_it_overlaps(void **state)
{
    (void)state;
    add("1000 100 first\n1100 100 second\n1200 100 third\n");
    add("1080 100 newest\n");
    expect(0x1000, NULL); /* half overwritten code runs no more */
    expect(0x1080, "newest");
    expect(0x117f, "newest");
    expect(0x1180, NULL);
    expect(0x1200, "third");
    add("1080 100 again\n");
    expect(0x1080, "again");
}

static void a_line_without_its_end_waits_for_it(void **state)
{
    const char *text = "1000 10 one\n2000 10 tw";

    (void)state;
    assert_int_equal(add(text), strlen("1000 10 one\n"));
    expect(0x1000, "one");
    expect(0x2000, NULL);
    assert_int_equal(add("2000 10 two\n"), strlen("2000 10 two\n"));
    expect(0x2000, "two");
}

static void lines_that_make_no_sense_are_skipped(void **state)
{
    (void)state;
    add("\n \nname\n1000\n1000 10\n1000 10 \n1000 0 empty\nffffffffffffffff 10 wraps\n"
        "11112222333344445 10 too_many_digits\n-1000 10 signed\n1000  10  fine\n");
    expect(0x1000, "fine");
    expect(5, NULL);
}

static void names_are_text_of_a_bounded_length(void **state)
{
    char line[1024], long_name[600];

    (void)state;
    add("1000 10 a\tb\xff"
        "c\n");
    expect(0x1000, "a?b?c");
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    (void)snprintf(line, sizeof(line), "2000 10 %s\n", long_name);
    add(line);
    assert_int_equal(strlen(perfmap_find(map, 0x2000)), PERFMAP_NAME_MAX);
}

static void the_oldest_lines_make_room(void **state)
{
    char line[128];
    uint32_t lines = PERFMAP_BYTES_MAX / 100; /* an entry takes more than 100 bytes */

    (void)state;
    for (uint32_t i = 0; i <= lines; i++) {
        (void)snprintf(line, sizeof(line), "%x 10 function_%u\n", 0x1000 + 16 * i, i);
        add(line);
        assert_true(perfmap_bytes(map) <= PERFMAP_BYTES_MAX);
    }
    expect(0x1000, NULL);
    (void)snprintf(line, sizeof(line), "function_%u", lines);
    expect(0x1000 + 16 * lines, line);
}

static void memory_that_holds_python_is_told_from_other_code(void **state)
{
    (void)state;
    add("1000 b py::f:a.py\n9000 100 JS:*f a.js\n");
    assert_true(perfmap_has_trampolines(map, 0x1000, 0x2000));
    assert_false(perfmap_has_trampolines(map, 0x9000, 0xa000));
    assert_false(perfmap_has_trampolines(map, 0x20000, 0x30000));
    add("1000 100 other\n");
    assert_false(perfmap_has_trampolines(map, 0x1000, 0x2000));
}

int main(void)
{
#define WITH_MAP(test) cmocka_unit_test_setup_teardown(test, make, drop)
    const struct CMUnitTest tests[] = {
        WITH_MAP(each_runtime_keeps_its_own_way_of_naming),
        WITH_MAP(the_newest_line_wins_over_all_that_it_overlaps),
        WITH_MAP(a_line_without_its_end_waits_for_it),
        WITH_MAP(lines_that_make_no_sense_are_skipped),
        WITH_MAP(names_are_text_of_a_bounded_length),
        WITH_MAP(the_oldest_lines_make_room),
        WITH_MAP(memory_that_holds_python_is_told_from_other_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
