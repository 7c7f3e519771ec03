#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/http/guard.h"
#include "coordinator/http/outbox.h"

static void expect_unescaped(const char *from, const char *to)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%s", from);
    assert_int_equal(guard_unescape(text), strlen(to));
    assert_string_equal(text, to);
}

static void escapes_are_decoded(void **state)
{
    (void)state;
    expect_unescaped("a%20b%2Fc%c3%a4", "a b/c\xc3\xa4");
    expect_unescaped("%252e", "%2e"); /* once, not twice */
}

static void a_broken_or_nul_escape_leaves_text_that_is_refused(void **state)
{
    static const char *const broken[] = {"%", "%4", "%zz", "a%00b", "%%41"};
    char text[16];

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        (void)snprintf(text, sizeof(text), "%s", broken[i]);
        (void)guard_unescape(text);
        assert_false(guard_text_is_clean(text));
    }
}

static void climbing_relative_and_unprintable_paths_are_refused(void **state)
{
    static const char *const bad[] = {"",     "a",        "*",    "..",    "http://evil/",
                                      "/..",  "/a/../b",  "/../", "/a/..", "//..",
                                      "/a\n", "/a/\x7f/b"};
    static const char *const good[] = {"/", "/a", "/a/b/", "/..a", "/a..", "/.../b", "//", "/a.b"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(guard_path_is_clean(bad[i]));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_true(guard_path_is_clean(good[i]));
}

static void only_this_machine_is_a_host(void **state)
{
    static const char *const ours[] = {"localhost",   "LOCALHOST:7180", "127.0.0.1",
                                       "127.0.0.1:1", "[::1]",          "[::1]:65535"};
    static const char *const foreign[] = {"",
                                          "evil.example",
                                          "localhost.evil.example",
                                          "localhost:7180.evil.example",
                                          "localhost:",
                                          "localhost:123456",
                                          "127.0.0.1.evil.example",
                                          "127.0.0.2",
                                          "evil@localhost",
                                          "[::1]x",
                                          "::1"};

    (void)state;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        assert_true(guard_host_is_local(ours[i]));
    for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
        assert_false(guard_host_is_local(foreign[i]));
}

static void a_page_of_another_port_is_another_site(void **state)
{
    (void)state;
    assert_true(guard_origin_is_ours("http://localhost:7180", "localhost:7180"));
    assert_false(guard_origin_is_ours("http://localhost:3000", "localhost:7180"));
    assert_false(guard_origin_is_ours("https://localhost:7180", "localhost:7180"));
    assert_false(guard_origin_is_ours("null", "localhost:7180"));
    assert_false(guard_origin_is_ours("", "localhost:7180"));
}

static void an_outbox_gives_back_every_byte_in_order_whatever_the_pieces(void **state)
{
    static char expected[100000], taken[100000];
    struct outbox o = {0};
    size_t put = 0, got = 0;

    (void)state;
    for (int i = 0; i < 2000; i++) { /* puts more than it takes: the buffer moves and grows */
        char data[16];

        (void)snprintf(data, sizeof(data), "%d", i);
        put += (size_t)snprintf(expected + put, sizeof(expected) - put, "event: e\ndata: %s\n\n",
                                data);
        assert_int_equal(outbox_put_event(&o, "e", data), 0);
        got += outbox_take(&o, taken + got, (size_t)(i % 30));
    }
    assert_int_equal(outbox_waiting(&o), put - got);
    got += outbox_take(&o, taken + got, sizeof(taken) - got);
    assert_int_equal(got, put);
    assert_memory_equal(taken, expected, put);
    outbox_deinit(&o);
}

static void an_event_has_the_form_that_browsers_read(void **state)
{
    struct outbox o = {0};
    char taken[64] = "";

    (void)state;
    assert_int_equal(outbox_put_event(&o, "session", "{}"), 0);
    assert_int_equal(outbox_put(&o, ":\n\n"), 0);
    assert_int_equal(outbox_take(&o, taken, 7), 7);
    (void)outbox_take(&o, taken + 7, sizeof(taken) - 7);
    assert_string_equal(taken, "event: session\ndata: {}\n\n:\n\n");
    outbox_deinit(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escapes_are_decoded),
        cmocka_unit_test(a_broken_or_nul_escape_leaves_text_that_is_refused),
        cmocka_unit_test(climbing_relative_and_unprintable_paths_are_refused),
        cmocka_unit_test(only_this_machine_is_a_host),
        cmocka_unit_test(a_page_of_another_port_is_another_site),
        cmocka_unit_test(an_outbox_gives_back_every_byte_in_order_whatever_the_pieces),
        cmocka_unit_test(an_event_has_the_form_that_browsers_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
