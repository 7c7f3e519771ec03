/* cpus: the kernel's list of CPUs, gaps included. */
#include "agent/perf/cpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct cpus list; /* 32 KiB: not for the stack */

static void ranges_and_single_numbers_are_read(void **state)
{
    (void)state;
    assert_int_equal(cpus_parse("0-2,5,7-8\n", &list), ST_OK);
    assert_int_equal(list.count, 6);
    assert_int_equal(list.ids[2], 2);
    assert_int_equal(list.ids[3], 5);
    assert_int_equal(list.ids[5], 8);
    assert_true(cpus_contain(&list, 7));
    assert_false(cpus_contain(&list, 6));
}

static void malformed_lists_are_refused_and_change_nothing(void **state)
{
    static const char *const bad[] = {"",    "\n",  "-",   "0-",   "a",           "3-1",   "1,1",
                                      "2,1", "0 1", "0--", "8192", "99999999999", "0-8192"};

    (void)state;
    assert_int_equal(cpus_parse("4", &list), ST_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(cpus_parse(bad[i], &list), ST_INVALID);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.ids[0], 4);
}

static void the_most_that_can_be_is_accepted(void **state)
{
    (void)state;
    assert_int_equal(cpus_parse("0-8191\n", &list), ST_OK);
    assert_int_equal(list.count, CPUS_MAX);
}

static void this_machine_has_a_cpu_on_line(void **state)
{
    (void)state;
    assert_int_equal(cpus_online(&list), ST_OK);
    assert_true(list.count > 0);
    assert_true(cpus_equal(&list, &list));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_and_single_numbers_are_read),
        cmocka_unit_test(malformed_lists_are_refused_and_change_nothing),
        cmocka_unit_test(the_most_that_can_be_is_accepted),
        cmocka_unit_test(this_machine_has_a_cpu_on_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
