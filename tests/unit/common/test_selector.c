#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/selector.h"

static struct labels web1;

static int make_labels(void **state)
{
    (void)state;
    return labels_set(&web1, "host", "web-1") || labels_set(&web1, "service", "checkout") ||
           labels_set(&web1, "zone", "eu-1");
}

static int drop_labels(void **state)
{
    (void)state;
    labels_deinit(&web1);
    return 0;
}

static bool selects(const char *text)
{
    struct selector *s;
    char why[SELECTOR_WHY_MAX];
    bool matches;

    if (selector_parse(text, &s, why) != ST_OK)
        fail_msg("'%s' was refused: %s", text, why);
    matches = selector_matches(s, &web1);
    selector_free(s);
    return matches;
}

static void empty_and_star_select_everything(void **state)
{
    (void)state;
    assert_true(selects(""));
    assert_true(selects("  "));
    assert_true(selects("*"));
}

static void each_operator_means_what_it_says(void **state)
{
    (void)state;
    assert_true(selects("service=checkout"));
    assert_false(selects("service=check"));
    assert_true(selects("service != cart"));
    assert_false(selects("service!=checkout"));
    assert_true(selects("host=~^web"));
    assert_true(selects("host=~-[0-9]{1,3}$"));
    assert_false(selects("host!~^web"));
    assert_true(selects("zone in (us-1, eu-1)"));
    assert_true(selects("zone in(eu-1)"));
    assert_false(selects("zone in (eu)"));
}

static void a_comma_is_and(void **state)
{
    (void)state;
    assert_true(selects("service=checkout,zone=eu-1"));
    assert_false(selects("service=checkout,zone=eu-2"));
    assert_true(selects("host=~(web|db),zone in (eu-1,eu-2),service!=cart"));
}

static void an_absent_key_is_empty(void **state)
{
    (void)state;
    assert_true(selects("rack="));
    assert_true(selects("rack!=7"));
    assert_false(selects("rack=7"));
}

static void a_fault_is_named(void **state)
{
    static const struct {
        const char *text, *named;
    } bad[] = {
        {"=x", "=x"},           {"service", "service"},     {"service==x,", "key"},
        {"a=b,,c=d", "key"},    {"host=~(", "("},           {"zone in eu", "zone"},
        {"zone in (a", "zone"}, {"zone in (a) b", "comma"}, {"Service=x", "Service"},
    };
    struct selector *s = NULL;
    char why[SELECTOR_WHY_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (selector_parse(bad[i].text, &s, why) != ST_INVALID)
            fail_msg("'%s' was accepted", bad[i].text);
        assert_non_null(strstr(why, bad[i].named));
        assert_null(s);
    }
}

static void limits_hold(void **state)
{
    char text[SELECTOR_TEXT_MAX + 2];
    struct selector *s = NULL;
    char why[SELECTOR_WHY_MAX];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(selector_parse(text, &s, why), ST_TOO_BIG);

    text[0] = '\0';
    for (int i = 0; i <= SELECTOR_TERMS_MAX; i++)
        strcat(text, i == 0 ? "a=b" : ",a=b");
    assert_int_equal(selector_parse(text, &s, why), ST_INVALID);
    assert_non_null(strstr(why, "32"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_and_star_select_everything),
        cmocka_unit_test(each_operator_means_what_it_says),
        cmocka_unit_test(a_comma_is_and),
        cmocka_unit_test(an_absent_key_is_empty),
        cmocka_unit_test(a_fault_is_named),
        cmocka_unit_test(limits_hold),
    };

    return cmocka_run_group_tests(tests, make_labels, drop_labels);
}
