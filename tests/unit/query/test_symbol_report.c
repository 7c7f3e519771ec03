/* Which binaries have symbols: every binary of a sample and every table, each once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/query/symbol_report.h"
#include "tests/unit/query/history.h"

static int set_up(void **state)
{
    *state = history_new();
    return 0;
}

static int tear_down(void **state)
{
    history_free(*state);
    return 0;
}

static void binaries_and_tables_meet(void **state)
{
    struct history *h = *state;
    struct symbol_report r;

    (void)STACK(h, "/bin/bare+0x1", "/bin/app+0x1", "/bin/app+0x2", "named on the host");
    SYMBOLS(h, "/bin/app", {0x1, 0x10, "f"});
    SYMBOLS(h, "/bin/not-yet-seen", {0x1, 0x10, "g"});
    assert_int_equal(symbol_report(history_view(h), &r), ST_OK);
    assert_int_equal(r.line_count, 3);
    assert_int_equal(r.table_count, 2);
    assert_string_equal(r.lines[0].path, ""); /* no sample told it */
    assert_true(r.lines[0].bytes > 0);
    assert_string_equal(r.lines[1].path, "/bin/app");
    assert_true(r.lines[1].bytes > 0);
    assert_int_equal(r.lines[1].record.origin, SYMBOL_ORIGIN_NONE); /* as before there were any */
    assert_string_equal(r.lines[2].path, "/bin/bare");
    assert_int_equal(r.lines[2].bytes, 0);
    symbol_report_deinit(&r);
}

static void an_empty_store_has_nothing_to_report(void **state)
{
    struct symbol_report r;

    assert_int_equal(symbol_report(history_view(*state), &r), ST_OK);
    assert_int_equal(r.line_count, 0);
    symbol_report_deinit(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(binaries_and_tables_meet, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_empty_store_has_nothing_to_report, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("symbol_report", tests, NULL, NULL);
}
