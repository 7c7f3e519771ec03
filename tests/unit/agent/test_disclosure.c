/* disclosure: what the operator named leaves the host, and nothing beside it does. */
#include "agent/process/disclosure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *variables[] = {"APP_VERSION", "zone"};
static char *flags[] = {"--shard", "-p"};
static const struct disclosure both = {{variables, 2}, {flags, 2}};

#define TEXT(literal) ((struct slice){(const uint8_t *)(literal), sizeof(literal) - 1})

static void expect(struct labels *l, size_t count, const char *key, const char *value)
{
    assert_int_equal(l->count, count);
    if (value == NULL)
        assert_null(labels_get(l, key));
    else
        assert_string_equal(labels_get(l, key), value);
}

static void named_variables_become_labels_and_no_others(void **state)
{
    struct labels l = {0};

    (void)state;
    disclosure_add_environment(&both,
                               TEXT("SECRET=1\0APP_VERSION=1.2=3\0APP_VERSION_KEY=x\0zone=eu\0"
                                    "ZONE=us\0NOT_APP_VERSION=9\0"),
                               &l);
    expect(&l, 2, "env.app_version", "1.2=3");
    expect(&l, 2, "env.zone", "eu");
    labels_deinit(&l);
}

static void named_flags_become_labels_and_no_others(void **state)
{
    struct labels l = {0};

    (void)state;
    disclosure_add_arguments(&both,
                             TEXT("--shard\0--token\0secret\0--shard=7\0-p\0"
                                  "8080\0--shards=9\0-pq\0word\0"),
                             &l);
    expect(&l, 2, "arg.shard", "7");
    expect(&l, 2, "arg.p", "8080");
    labels_deinit(&l);
}

static void a_flag_without_a_value_does_not_take_the_next_flag(void **state)
{
    struct labels l = {0};

    (void)state;
    disclosure_add_arguments(&both, TEXT("program\0--shard\0--password=x\0-p\0"), &l);
    expect(&l, 2, "arg.shard", "true");
    expect(&l, 2, "arg.p", "true");
    labels_deinit(&l);
}

static void the_last_of_several_counts_and_dashes_end_the_flags(void **state)
{
    struct labels l = {0};

    (void)state;
    disclosure_add_arguments(&both, TEXT("program\0-p\0001\0-p=2\0--\0-p\0003\0"), &l);
    expect(&l, 1, "arg.p", "2");
    labels_deinit(&l);
}

static void texts_without_an_end_or_a_value_are_harmless(void **state)
{
    struct labels l = {0};

    (void)state;
    disclosure_add_environment(&both, TEXT("APP_VERSION=\0zone\0\0\0APP_VERSION"), &l);
    expect(&l, 0, "env.zone", NULL);
    disclosure_add_environment(&both, TEXT("zone=a\nb\xff"), &l);
    expect(&l, 1, "env.zone", "a?b?");
    disclosure_add_arguments(&both, TEXT(""), &l);
    disclosure_add_arguments(&both, TEXT("-p"), &l); /* a program of that name */
    expect(&l, 1, "arg.p", NULL);
    labels_deinit(&l);
}

static void nothing_is_disclosed_unless_it_is_named(void **state)
{
    static const struct disclosure none;
    struct labels l = {0};

    (void)state;
    disclosure_add_environment(&none, TEXT("APP_VERSION=1\0"), &l);
    disclosure_add_arguments(&none, TEXT("program\0--shard=1\0"), &l);
    expect(&l, 0, "env.app_version", NULL);
}

static enum status check(char *variable, char *flag, char why[CONFIG_WHY_MAX])
{
    const struct disclosure d = {{&variable, variable != NULL}, {&flag, flag != NULL}};

    why[0] = '\0';
    return disclosure_check(&d, why);
}

static void names_that_can_be_no_label_are_refused_by_name(void **state)
{
    static char *many[DISCLOSURE_NAMES_MAX + 1];
    const struct disclosure too_many = {{many, DISCLOSURE_NAMES_MAX + 1}, {NULL, 0}};
    char why[CONFIG_WHY_MAX], long_name[80];

    (void)state;
    assert_int_equal(disclosure_check(&both, why), ST_OK);
    assert_int_equal(check("A=B", NULL, why), ST_INVALID);
    assert_non_null(strstr(why, "process_environment: 'A=B'"));
    assert_int_equal(check("", NULL, why), ST_INVALID);
    assert_int_equal(check("--shard", NULL, why), ST_INVALID);
    assert_int_equal(check(NULL, "shard", why), ST_INVALID);
    assert_non_null(strstr(why, "process_arguments: 'shard'"));
    assert_int_equal(check(NULL, "--", why), ST_INVALID);
    assert_int_equal(check(NULL, "--max-old.space_size", why), ST_OK);
    memset(long_name, 'A', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    assert_int_equal(check(long_name, NULL, why), ST_INVALID);
    assert_int_equal(disclosure_check(&too_many, why), ST_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_variables_become_labels_and_no_others),
        cmocka_unit_test(named_flags_become_labels_and_no_others),
        cmocka_unit_test(a_flag_without_a_value_does_not_take_the_next_flag),
        cmocka_unit_test(the_last_of_several_counts_and_dashes_end_the_flags),
        cmocka_unit_test(texts_without_an_end_or_a_value_are_harmless),
        cmocka_unit_test(nothing_is_disclosed_unless_it_is_named),
        cmocka_unit_test(names_that_can_be_no_label_are_refused_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
