/* The daemon as a whole: it starts with everything bound, stops with nothing left, and a start that
 * fails says why and leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coordinator/coordinator.h"

struct world {
    char directory[64], store[96], socket[96];
    struct coordinator_config config;
};

static void set(struct world *w, const char *key, const char *text)
{
    char why[CONFIG_WHY_MAX];

    assert_int_equal(config_set(coordinator_config_keys, coordinator_config_key_count, &w->config,
                                key, text, why),
                     ST_OK);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    char why[CONFIG_WHY_MAX];

    assert_non_null(w);
    strcpy(w->directory, "/tmp/fleetprof-daemon-XXXXXX");
    assert_non_null(mkdtemp(w->directory));
    snprintf(w->store, sizeof(w->store), "%s/store", w->directory);
    snprintf(w->socket, sizeof(w->socket), "%s/run/api.sock", w->directory);
    assert_int_equal(
        config_load(NULL, coordinator_config_keys, coordinator_config_key_count, &w->config, why),
        ST_OK);
    set(w, "store", w->store);
    set(w, "http_socket", w->socket);
    set(w, "http_port", "0");
    set(w, "listen", "tcp://127.0.0.1:0");
    set(w, "map_bytes", "1GiB");
    *state = w;
    return 0;
}

static void empty(const char *path)
{
    DIR *d = opendir(path);
    char file[512];

    if (d == NULL)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlink(file) != 0)
            empty(file);
    }
    closedir(d);
    rmdir(path);
}

static int tear_down(void **state)
{
    struct world *w = *state;

    config_free(coordinator_config_keys, coordinator_config_key_count, &w->config);
    empty(w->directory);
    free(w);
    return 0;
}

static struct coordinator *start(struct world *w)
{
    struct coordinator *c = NULL;
    char why[COORDINATOR_WHY_MAX] = "";

    if (coordinator_new(&w->config, &c, why) != ST_OK)
        fail_msg("%s", why);
    return c;
}

static unsigned open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(d);
    while (readdir(d) != NULL)
        count++;
    closedir(d);
    return count;
}

static void *run(void *arg)
{
    return (void *)(uintptr_t)coordinator_run(arg);
}

static void it_stops_when_told_from_another_thread(void **state)
{
    struct coordinator *c = start(*state);
    pthread_t thread;
    void *result;

    assert_int_equal(pthread_create(&thread, NULL, run, c), 0);
    coordinator_stop(c);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((uintptr_t)result, ST_OK);
    coordinator_free(c);
}

static void everything_is_bound_when_it_has_started(void **state)
{
    struct world *w = *state;
    struct coordinator *c = start(w);
    struct stat s;

    assert_int_not_equal(coordinator_agent_port(c), 0);
    assert_int_equal(stat(w->socket, &s), 0);
    assert_true(S_ISSOCK(s.st_mode));
    coordinator_free(c);
}

static void it_starts_again_over_what_it_left(void **state)
{
    struct coordinator *c = start(*state);
    unsigned descriptors;

    coordinator_free(c);
    descriptors = open_descriptors();
    for (unsigned i = 0; i < 3; i++) {
        c = start(*state);
        coordinator_free(c);
    }
    assert_int_equal(open_descriptors(), descriptors);
}

static void fails(struct world *w, const char *word)
{
    struct coordinator *c = NULL;
    char why[COORDINATOR_WHY_MAX] = "";

    assert_int_not_equal(coordinator_new(&w->config, &c, why), ST_OK);
    assert_null(c);
    if (strstr(why, word) == NULL)
        fail_msg("\"%s\" does not name %s", why, word);
}

static void a_start_that_fails_names_the_reason(void **state)
{
    struct world *w = *state;
    struct coordinator *c = start(w);

    fails(w, w->store); /* another one has it open */
    set(w, "store", "/proc/fleetprof");
    fails(w, "/proc/fleetprof");
    coordinator_free(c);
}

static void an_address_in_use_is_named(void **state)
{
    struct world *w = *state;
    struct coordinator *c = start(w);
    char url[64], other[128];

    snprintf(url, sizeof(url), "tcp://127.0.0.1:%u", coordinator_agent_port(c));
    snprintf(other, sizeof(other), "%s/other", w->directory);
    set(w, "listen", url);
    set(w, "store", other);
    fails(w, url);
    coordinator_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(it_stops_when_told_from_another_thread),
        T(everything_is_bound_when_it_has_started),
        T(it_starts_again_over_what_it_left),
        T(a_start_that_fails_names_the_reason),
        T(an_address_in_use_is_named),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
