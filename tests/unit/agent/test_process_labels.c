/* process: labels of real processes, and of some that are gone. */
#include "agent/process/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/process/disclosure.h"
#include "tests/support/cgroup2.h"
#include "tests/unit/agent/children.h"
#include "tests/unit/agent/process_events.h"

static void a_process_that_moves_has_the_labels_of_its_new_cgroup(void **state)
{
    char path[CGROUP2_PATH_MAX], service[64];
    const struct process *p;
    uint64_t serial;
    pid_t child;

    (void)state;
    if (!cgroup2_make(".service", path))
        skip(); /* needs the right to make cgroups */
    child = start_idle();
    p = processes_find(table, (uint32_t)child);
    assert_null(labels_get(&p->labels, "service"));
    note_cgroup((uint32_t)child, 1);
    serial = processes_find(table, (uint32_t)child)->serial;
    assert_true(cgroup2_join(path, child));
    note_cgroup((uint32_t)child, 1); /* no news: not read again */
    assert_true(processes_find(table, (uint32_t)child)->serial == serial);
    note_cgroup((uint32_t)child, 2);
    p = processes_find(table, (uint32_t)child);
    (void)snprintf(service, sizeof(service), "fleetprof-test-%d", (int)getpid());
    assert_string_equal(labels_get(&p->labels, "service"), service);
    assert_true(p->serial != serial);
    end_child(child);
    assert_int_equal(rmdir(path), 0);
}

/* A shell that takes any arguments and stops. */
static pid_t start_service(void)
{
    static char shell[] = "sh", command[] = "-c", stop[] = "kill -STOP $$";
    static char token[] = "--token=secret", shard[] = "--shard=7";
    static char version[] = "APP_VERSION=1.2", password[] = "PASSWORD=secret";

    return run_program("/bin/sh", (char *const[]){shell, command, stop, shell, token, shard, NULL},
                       (char *const[]){version, password, NULL});
}

static void only_what_is_named_of_environment_and_arguments_is_disclosed(void **state)
{
    static char *variables[] = {"APP_VERSION"}, *flags[] = {"--shard"};
    static const struct disclosure named = {{variables, 1}, {flags, 1}};
    const struct processes_options options = {.disclosure = &named};
    pid_t child = start_service();
    const struct labels *l;

    (void)state;
    processes_free(table);
    assert_int_equal(processes_new(&options, &table), ST_OK);
    assert_non_null(processes_find(table, (uint32_t)child));
    note_cgroup((uint32_t)child, 1);
    l = &processes_find(table, (uint32_t)child)->labels;
    assert_string_equal(labels_get(l, "env.app_version"), "1.2");
    assert_string_equal(labels_get(l, "arg.shard"), "7");
    for (size_t i = 0; i < l->count; i++)
        assert_null(strstr(l->items[i].value, "secret"));
    rename_thread(SIDEBAND_EXEC, (uint32_t)child, (uint32_t)child, "other");
    end_child(child);
    note_cgroup((uint32_t)child, 1); /* what it became cannot be asked any more */
    l = &processes_find(table, (uint32_t)child)->labels;
    assert_null(labels_get(l, "env.app_version"));
    assert_null(labels_get(l, "arg.shard"));
}

static void a_process_that_is_gone_has_the_labels_of_its_cgroup(void **state)
{
    enum { SEEN = 1234567, UNSEEN = 7654321 }; /* ids of cgroups */
    const char *cgroup;

    (void)state;
    assert_non_null(processes_find(table, (uint32_t)getpid()));
    note_cgroup((uint32_t)getpid(), SEEN);
    fork_process(1, PARENT);
    fork_process(1, CHILD);
    note_cgroup(PARENT, SEEN);
    note_cgroup(CHILD, UNSEEN);
    cgroup = labels_get(&processes_find(table, (uint32_t)getpid())->labels, "cgroup");
    assert_string_equal(labels_get(&processes_find(table, PARENT)->labels, "cgroup"), cgroup);
    assert_string_equal(labels_get(&processes_find(table, CHILD)->labels, "cgroup"),
                        "inode:7654321");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TABLE(a_process_that_moves_has_the_labels_of_its_new_cgroup),
        WITH_TABLE(only_what_is_named_of_environment_and_arguments_is_disclosed),
        WITH_TABLE(a_process_that_is_gone_has_the_labels_of_its_cgroup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
