/* fleetprofd's configuration: what is listened on without being asked for, and what needs asking.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/url.h"
#include "coordinator/coordinator.h"

static void load(struct coordinator_config *c)
{
    char why[CONFIG_WHY_MAX];

    assert_int_equal(
        config_load(NULL, coordinator_config_keys, coordinator_config_key_count, c, why), ST_OK);
}

static void set(struct coordinator_config *c, const char *key, const char *text)
{
    char why[CONFIG_WHY_MAX];

    assert_int_equal(
        config_set(coordinator_config_keys, coordinator_config_key_count, c, key, text, why),
        ST_OK);
}

static void unload(struct coordinator_config *c)
{
    config_free(coordinator_config_keys, coordinator_config_key_count, c);
}

static void the_defaults_are_sound_and_stay_on_this_machine(void **state)
{
    struct coordinator_config c;
    char why[COORDINATOR_WHY_MAX];

    (void)state;
    load(&c);
    assert_int_equal(coordinator_config_check(&c, why), ST_OK);
    assert_false(url_is_remote(COORDINATOR_LISTEN_DEFAULT));
    assert_string_equal(c.http_host, "127.0.0.1");
    assert_int_equal(c.http_port, 7180);
    assert_false(c.insecure_plain);
    unload(&c);
}

static void only_loopback_and_sockets_of_this_machine_are_not_remote(void **state)
{
    (void)state;
    assert_false(url_is_remote("ipc:///run/fleetprof/agents.sock"));
    assert_false(url_is_remote("tcp://127.0.0.1:7100"));
    assert_false(url_is_remote("tcp://127.1.2.3:0"));
    assert_false(url_is_remote("tcp://localhost:7100"));
    assert_false(url_is_remote("tcp://[::1]:7100"));
    assert_true(url_is_remote("tcp://0.0.0.0:7100"));
    assert_true(url_is_remote("tcp://[::]:7100"));
    assert_true(url_is_remote("tcp://:7100"));
    assert_true(url_is_remote("tcp://10.0.0.1:7100"));
    assert_true(url_is_remote("tcp://127.0.0.1.example.org:7100"));
    assert_true(url_is_remote("tcp://localhost.example.org:7100"));
    assert_true(url_is_remote("tcp://12:7100"));
}

static void a_network_without_tls_has_to_be_asked_for(void **state)
{
    struct coordinator_config c;
    char why[COORDINATOR_WHY_MAX] = "";

    (void)state;
    load(&c);
    set(&c, "listen", "tcp://127.0.0.1:7100");
    set(&c, "listen", "tcp://10.0.0.1:7100");
    assert_int_equal(coordinator_config_check(&c, why), ST_INVALID);
    assert_non_null(strstr(why, "tcp://10.0.0.1:7100"));
    set(&c, "insecure_plain", "true");
    assert_int_equal(coordinator_config_check(&c, why), ST_OK);
    unload(&c);
}

static void the_api_is_never_on_a_network(void **state)
{
    struct coordinator_config c;
    char why[COORDINATOR_WHY_MAX] = "";

    (void)state;
    load(&c);
    set(&c, "http_host", "0.0.0.0");
    set(&c, "insecure_plain", "true");
    assert_int_equal(coordinator_config_check(&c, why), ST_INVALID);
    assert_non_null(strstr(why, "0.0.0.0"));
    set(&c, "http_port", "0");
    assert_int_equal(coordinator_config_check(&c, why), ST_OK); /* it is not listened on */
    unload(&c);
}

static void other_kinds_of_url_are_named(void **state)
{
    struct coordinator_config c;
    char why[COORDINATOR_WHY_MAX] = "";

    (void)state;
    load(&c);
    set(&c, "listen", "ws://127.0.0.1:7100");
    assert_int_equal(coordinator_config_check(&c, why), ST_INVALID);
    assert_non_null(strstr(why, "ws://127.0.0.1:7100"));
    unload(&c);
}

static void debuginfod_servers_are_none_unless_told_and_are_checked(void **state)
{
    struct coordinator_config c;
    char why[COORDINATOR_WHY_MAX] = "";

    (void)state;
    load(&c);
    assert_int_equal(c.debuginfod.count, 0);
    assert_int_equal(c.debuginfod_bytes, 256 << 20);
    set(&c, "debuginfod", "https://debuginfod.example.org");
    assert_int_equal(coordinator_config_check(&c, why), ST_OK);
    set(&c, "debuginfod", "file:///usr/lib/debug");
    assert_int_equal(coordinator_config_check(&c, why), ST_INVALID);
    assert_non_null(strstr(why, "file:///usr/lib/debug"));
    unload(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_sound_and_stay_on_this_machine),
        cmocka_unit_test(only_loopback_and_sockets_of_this_machine_are_not_remote),
        cmocka_unit_test(a_network_without_tls_has_to_be_asked_for),
        cmocka_unit_test(the_api_is_never_on_a_network),
        cmocka_unit_test(other_kinds_of_url_are_named),
        cmocka_unit_test(debuginfod_servers_are_none_unless_told_and_are_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
