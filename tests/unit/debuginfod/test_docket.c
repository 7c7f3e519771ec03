/* The docket: a binary is asked for after its grace, and left alone until its rest is over. And
 * which URLs can be those of a server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/symbols/docket.h"
#include "coordinator/symbols/download.h"

#define GRACE_NS (5 * NS_PER_S)

static const struct mono start = {1000 * NS_PER_S};

static struct build_id binary(uint16_t number)
{
    struct build_id id = {.length = 20};

    memcpy(id.bytes, &number, sizeof(number));
    return id;
}

static bool is_due(struct docket *d, uint16_t number, uint64_t after_ns)
{
    struct build_id id = binary(number);

    return docket_is_due(d, &id, mono_after(start, after_ns), GRACE_NS);
}

static void a_binary_is_due_after_its_grace(void **state)
{
    struct docket *d;

    (void)state;
    assert_int_equal(docket_new(&d), ST_OK);
    assert_false(is_due(d, 1, 0));
    assert_false(is_due(d, 1, GRACE_NS - 1));
    assert_true(is_due(d, 1, GRACE_NS));
    assert_false(is_due(d, 2, GRACE_NS));
    docket_free(d);
}

static void what_was_not_found_is_left_alone_until_its_rest_is_over(void **state)
{
    struct build_id id = binary(1);
    struct docket *d;

    (void)state;
    assert_int_equal(docket_new(&d), ST_OK);
    assert_false(is_due(d, 1, 0));
    docket_rest(d, &id, mono_after(start, 3600 * NS_PER_S));
    assert_false(is_due(d, 1, 3600 * NS_PER_S - 1));
    assert_true(is_due(d, 1, 3600 * NS_PER_S));
    docket_free(d);
}

static void a_full_docket_forgets_what_is_due_and_keeps_what_rests(void **state)
{
    struct docket *d;

    (void)state;
    assert_int_equal(docket_new(&d), ST_OK);
    for (uint16_t i = 0; i < DOCKET_MAX; i++)
        assert_false(is_due(d, i, i));
    assert_false(is_due(d, DOCKET_MAX, GRACE_NS - 1)); /* all rest: there is no room */
    assert_false(is_due(d, DOCKET_MAX, 2 * GRACE_NS - 1));
    assert_int_equal(docket_count(d), DOCKET_MAX);
    assert_true(is_due(d, DOCKET_MAX, 3 * GRACE_NS)); /* it has taken the place of 0 */
    assert_true(is_due(d, 1, 3 * GRACE_NS));
    assert_false(is_due(d, 0, 3 * GRACE_NS));
    docket_free(d);
}

static void servers_are_named_by_http_and_https_urls(void **state)
{
    char too_long[DOWNLOAD_URL_MAX + 2];

    (void)state;
    assert_true(download_url_valid("http://127.0.0.1:8002"));
    assert_true(download_url_valid("http://[::1]:8002/"));
    assert_true(download_url_valid("https://debuginfod.example.org/mirror/"));
    assert_false(download_url_valid(""));
    assert_false(download_url_valid("debuginfod.example.org"));
    assert_false(download_url_valid("ftp://debuginfod.example.org"));
    assert_false(download_url_valid("file:///usr/lib/debug"));
    assert_false(download_url_valid("http://"));
    assert_false(download_url_valid("http://:8002"));
    assert_false(download_url_valid("https:///path"));
    assert_false(download_url_valid("http://one.example.org http://two.example.org"));
    assert_false(download_url_valid("http://host/?query"));
    assert_false(download_url_valid("http://host/#part"));
    memset(too_long, 'a', sizeof(too_long) - 1);
    too_long[sizeof(too_long) - 1] = '\0';
    memcpy(too_long, "http://", strlen("http://"));
    assert_false(download_url_valid(too_long));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_binary_is_due_after_its_grace),
        cmocka_unit_test(what_was_not_found_is_left_alone_until_its_rest_is_over),
        cmocka_unit_test(a_full_docket_forgets_what_is_due_and_keeps_what_rests),
        cmocka_unit_test(servers_are_named_by_http_and_https_urls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
