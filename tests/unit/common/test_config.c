#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/config.h"

struct sample_config {
    char *name;
    uint64_t port, wait_ns, room_bytes;
    bool loud;
    struct config_list labels;
};

static const struct config_key keys[] = {
    {"name", CONFIG_STRING, offsetof(struct sample_config, name), "nobody", 0, 0, "who"},
    {"port", CONFIG_U64, offsetof(struct sample_config, port), "7100", 1, 65535, "where"},
    {"wait", CONFIG_DURATION, offsetof(struct sample_config, wait_ns), "10s", 0, 0, "how long"},
    {"room", CONFIG_BYTES, offsetof(struct sample_config, room_bytes), "1MiB", 0, 0, "how much"},
    {"loud", CONFIG_BOOL, offsetof(struct sample_config, loud), NULL, 0, 0, "how"},
    {"labels", CONFIG_LIST, offsetof(struct sample_config, labels), NULL, 0, 0, "what"},
};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static enum status load(const char *yaml, struct sample_config *out, char why[CONFIG_WHY_MAX])
{
    char path[] = "/tmp/fleetprof-config-XXXXXX";
    int fd = mkstemp(path);
    enum status st;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
    close(fd);
    st = config_load(path, keys, KEYS, out, why);
    unlink(path);
    return st;
}

static void no_file_means_the_defaults(void **state)
{
    struct sample_config c;
    char why[CONFIG_WHY_MAX];

    (void)state;
    assert_int_equal(config_load(NULL, keys, KEYS, &c, why), ST_OK);
    assert_string_equal(c.name, "nobody");
    assert_int_equal(c.port, 7100);
    assert_int_equal(c.wait_ns, 10 * NS_PER_S);
    assert_int_equal(c.room_bytes, 1 << 20);
    assert_false(c.loud);
    assert_int_equal(c.labels.count, 0);
    config_free(keys, KEYS, &c);
}

static void the_file_replaces_defaults_and_options_the_file(void **state)
{
    struct sample_config c;
    char why[CONFIG_WHY_MAX];

    (void)state;
    assert_int_equal(load("name: web\nport: 80\nwait: 1m\nroom: 10GB\nloud: true\n"
                          "labels:\n  - service=checkout\n  - zone=eu-1\n",
                          &c, why),
                     ST_OK);
    assert_string_equal(c.name, "web");
    assert_int_equal(c.port, 80);
    assert_int_equal(c.wait_ns, 60 * NS_PER_S);
    assert_int_equal(c.room_bytes, UINT64_C(10000000000));
    assert_true(c.loud);
    assert_int_equal(c.labels.count, 2);
    assert_string_equal(c.labels.items[1], "zone=eu-1");

    assert_int_equal(config_set(keys, KEYS, &c, "port", "81", why), ST_OK);
    assert_int_equal(c.port, 81);
    assert_int_equal(config_set(keys, KEYS, &c, "labels", "rack=7", why), ST_OK);
    assert_int_equal(c.labels.count, 3);
    config_free(keys, KEYS, &c);
}

static void a_fault_names_the_key_the_value_and_what_is_right(void **state)
{
    static const struct {
        const char *yaml, *named;
    } bad[] = {
        {"port: seven", "port: 'seven' is not a whole number"},
        {"port: 0", "port: '0' is not within 1 and 65535"},
        {"port: 99999", "65535"},
        {"wait: soon", "wait: 'soon' is not a duration"},
        {"room: 3 parsecs", "room: '3 parsecs' is not a size"},
        {"room: 99999999999TiB", "room"},
        {"loud: maybe", "true or false"},
        {"colour: red", "colour"},
        {"labels: 7", ""},
        {"name: [a", ""},
    };
    char why[CONFIG_WHY_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct sample_config c;

        if (load(bad[i].yaml, &c, why) != ST_INVALID)
            fail_msg("'%s' was accepted", bad[i].yaml);
        if (why[0] == '\0' || strstr(why, bad[i].named) == NULL)
            fail_msg("'%s' was explained as '%s'", bad[i].yaml, why);
    }
}

static void a_missing_file_is_named(void **state)
{
    struct sample_config c;
    char why[CONFIG_WHY_MAX];

    (void)state;
    assert_int_equal(config_load("/no/such.yaml", keys, KEYS, &c, why), ST_NOT_FOUND);
    assert_non_null(strstr(why, "/no/such.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_file_means_the_defaults),
        cmocka_unit_test(the_file_replaces_defaults_and_options_the_file),
        cmocka_unit_test(a_fault_names_the_key_the_value_and_what_is_right),
        cmocka_unit_test(a_missing_file_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
