/* The agent's configuration: what it refuses, and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "agent/agent.h"

static enum status check(const char *coordinator, const char *insecure_plain, char *why)
{
    struct agent_config config;
    enum status st;

    assert_int_equal(config_load(NULL, agent_config_keys, agent_config_key_count, &config, why),
                     ST_OK);
    assert_int_equal(config_set(agent_config_keys, agent_config_key_count, &config, "coordinator",
                                coordinator, why),
                     ST_OK);
    assert_int_equal(config_set(agent_config_keys, agent_config_key_count, &config,
                                "insecure_plain", insecure_plain, why),
                     ST_OK);
    st = agent_config_check(&config, why);
    config_free(agent_config_keys, agent_config_key_count, &config);
    return st;
}

static void a_network_without_tls_has_to_be_asked_for(void **state)
{
    char why[CONFIG_WHY_MAX] = "";

    (void)state;
    assert_int_equal(check("tcp://127.0.0.1:7100", "false", why), ST_OK);
    assert_int_equal(check("ipc:///run/agents.sock", "false", why), ST_OK);
    assert_int_equal(check("tcp://192.0.2.10:7100", "true", why), ST_OK);
    assert_int_equal(check("tcp://192.0.2.10:7100", "false", why), ST_INVALID);
    assert_non_null(strstr(why, "tcp://192.0.2.10:7100"));
    assert_non_null(strstr(why, "insecure_plain"));
}

static void a_url_of_another_kind_is_named(void **state)
{
    char why[CONFIG_WHY_MAX] = "";

    (void)state;
    assert_int_equal(check("http://127.0.0.1:7100", "true", why), ST_INVALID);
    assert_non_null(strstr(why, "http://127.0.0.1:7100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_network_without_tls_has_to_be_asked_for),
        cmocka_unit_test(a_url_of_another_kind_is_named),
    };

    return cmocka_run_group_tests_name("agent_config", tests, NULL, NULL);
}
