/* procfs and cgroup: the kernel's texts, with names in them that mean harm. */
#include "agent/process/procfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/process/cgroup.h"

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static struct slice text(const char *s)
{
    return (struct slice){(const uint8_t *)s, strlen(s)};
}

static void assert_slice(struct slice got, const char *want)
{
    assert_int_equal(got.length, strlen(want));
    assert_memory_equal(got.bytes, want, got.length);
}

#define STAT_TAIL \
    " S 1 1 1 0 -1 4194560 100 0 0 0 1 2 0 0 20 0 3 0 4711 1000000 500 18446744073709551615 1 1\n"

static void stat_gives_name_state_threads_and_start(void **state)
{
    struct procfs_stat s;

    (void)state;
    assert_true(procfs_parse_stat(text("42 (bash)" STAT_TAIL), &s));
    assert_string_equal(s.comm, "bash");
    assert_int_equal(s.state, 'S');
    assert_int_equal(s.threads, 3);
    assert_int_equal(s.start_ticks, 4711);
}

static void a_name_may_look_like_the_rest_of_the_line(void **state)
{
    struct procfs_stat s;

    (void)state;
    assert_true(procfs_parse_stat(text("42 (a) R 1 (b)" STAT_TAIL), &s));
    assert_string_equal(s.comm, "a) R 1 (b");
    assert_int_equal(s.start_ticks, 4711);
}

static void stats_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "42",
        "42 (x",
        "42 )x(",
        "42 (x) S",
        "42 (x) S 1 1 1 0 -1 4194560 100 0 0 0 1 2",
        "42 (x) S 1 1 1 0 -1 4 1 0 0 0 1 2 0 0 20 0 -3 0 4711 1\n",
        "42 (x) S 1 1 1 0 -1 4 1 0 0 0 1 2 0 0 20 0 3 0 99999999999999999999999 1\n"};
    struct procfs_stat s = {.state = '!'};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(procfs_parse_stat(text(bad[i]), &s));
    assert_int_equal(s.state, '!');
}

static void status_gives_the_user_and_the_pid_as_the_process_sees_it(void **state)
{
    struct procfs_status s = {0};

    (void)state;
    assert_true(procfs_parse_status(text("Name:\tUid: x\nUid:\t0\t1000\t0\t0\nNSpid:\t4711\t42\t7\n"
                                         "Threads:\t1\n"),
                                    &s));
    assert_int_equal(s.uid, 1000);
    assert_int_equal(s.ns_pid, 7);
    assert_true(procfs_parse_status(text("Uid:\t1\t2\t3\t4\nNSpid:\t42"), &s));
    assert_int_equal(s.ns_pid, 42);
    assert_false(procfs_parse_status(text("Uid:\t1\t2\t3\t4\n"), &s));
    assert_false(procfs_parse_status(text("NSpid:\t42\n"), &s));
    assert_false(procfs_parse_status(text("Uid:\t1\nNSpid:\t-1\n"), &s));
    assert_false(procfs_parse_status(text("Uid:\nNSpid:\n"), &s));
    assert_false(procfs_parse_status(text(""), &s));
    assert_int_equal(s.ns_pid, 42); /* untouched */
}

static void mappings_are_read_line_by_line(void **state)
{
    struct slice maps = text("55d000-55e000 r-xp 00001000 fe:00 1234    /usr/bin/my cat (deleted)\n"
                             "not a mapping at all\n"
                             "7f0000-7e0000 r-xp 00000000 00:00 0 \n"
                             "7f0000-7f8000 rw-p 00000000 00:00 0 \n"
                             "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]");
    struct procfs_mapping m;

    (void)state;
    assert_true(procfs_next_mapping(&maps, &m));
    assert_true(m.start == 0x55d000 && m.end == 0x55e000);
    assert_true(m.file_offset == 0x1000 && m.inode == 1234 && m.executable);
    assert_slice(m.path, "/usr/bin/my cat (deleted)");
    assert_true(procfs_next_mapping(&maps, &m));
    assert_true(m.start == 0x7f0000 && !m.executable);
    assert_int_equal(m.path.length, 0);
    assert_true(procfs_next_mapping(&maps, &m));
    assert_true(m.end == UINT64_C(0xffffffffff601000));
    assert_slice(m.path, "[vsyscall]");
    assert_false(procfs_next_mapping(&maps, &m));
}

static void v2_is_preferred_unless_only_v1_knows_more(void **state)
{
    (void)state;
    assert_slice(procfs_cgroup_path(text("0::/system.slice/cron.service\n")),
                 "/system.slice/cron.service");
    assert_slice(procfs_cgroup_path(text("2:cpu:/a\n1:name=systemd:/b\n0::/c\n")), "/c");
    assert_slice(procfs_cgroup_path(text("4:memory:/jobs/7\n1:cpu:/\n0::/\n")), "/jobs/7");
    assert_slice(procfs_cgroup_path(text("4:memory:/docker/" ID_A "\n0::/init.scope\n")),
                 "/docker/" ID_A);
    assert_slice(procfs_cgroup_path(text("1:cpu:/\n0::/\n")), "/");
    assert_slice(procfs_cgroup_path(text("1:name=a:b:/with:colon\n")), "b:/with:colon");
    assert_slice(procfs_cgroup_path(text("")), "");
    assert_slice(procfs_cgroup_path(text("nonsense\n\n::\n")), "");
}

static void assert_names(const char *path, const char *unit, const char *container,
                         const char *service)
{
    struct cgroup_names names;

    cgroup_parse(text(path), &names);
    assert_string_equal(names.unit, unit);
    assert_string_equal(names.container, container);
    assert_string_equal(names.service, service);
}

static void units_are_the_innermost(void **state)
{
    (void)state;
    assert_names("/", "", "", "");
    assert_names("/system.slice/nginx.service", "nginx.service", "", "nginx");
    assert_names("/system.slice/nginx.service/workers", "nginx.service", "", "nginx");
    assert_names("/user.slice/user-0.slice/session-3.scope", "session-3.scope", "", "");
    assert_names("/user.slice/user-1.slice/user@1.service/app.slice/db.service", "db.service", "",
                 "db");
    assert_names("/system.slice", "system.slice", "", "");
    assert_names("/.service", "", "", "");
}

static void containers_of_every_runtime_are_found(void **state)
{
    (void)state;
    assert_names("/docker/" ID_A, "", ID_A, "0123456789ab");
    assert_names("/system.slice/docker-" ID_A ".scope", "docker-" ID_A ".scope", ID_A,
                 "0123456789ab");
    assert_names("/kubepods/burstable/pod3c1b2a00-1111-2222-3333-444455556666/" ID_A, "", ID_A,
                 "0123456789ab");
    assert_names("/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID_A ".scope",
                 "cri-containerd-" ID_A ".scope", ID_A, "0123456789ab");
    assert_names("/machine.slice/libpod-" ID_B ".scope/container", "libpod-" ID_B ".scope", ID_B,
                 "fedcba987654");
    assert_names("/kubepods/crio-" ID_B, "", ID_B, "fedcba987654");
    assert_names("/docker/" ID_A "/kubepods/besteffort/pod1/" ID_B, "", ID_B, "fedcba987654");
    assert_names("/../../" ID_B, "", ID_B, "fedcba987654"); /* seen from a cgroup namespace */
    assert_names("/lxc.payload.web-1/system.slice/cron.service", "cron.service", "web-1", "cron");
    assert_names("/machine.slice/systemd-nspawn@web.service/payload", "systemd-nspawn@web.service",
                 "web", "systemd-nspawn@web");
    assert_names("/ecs/5155f28840e612baa0fedbf15e89614f/5155f28840e612baa0fedbf15e89614f-1718", "",
                 "5155f28840e612baa0fedbf15e89614f-1718", "5155f28840e6");
}

static void what_only_looks_like_a_container_is_none(void **state)
{
    (void)state;
    assert_names("/kubepods/crio-conmon-" ID_B, "", "", "");
    assert_names("/docker/" ID_A "0", "", "", ""); /* 65 digits */
    assert_names("/jobs/5155f28840e612baa0fedbf15e89614f", "", "", "");
    assert_names("/jobs/5155f28840e612baa0fedbf15e89614f-a/lxc.payload.", "", "", "");
}

static void names_of_any_length_are_harmless(void **state)
{
    char path[2000];
    struct cgroup_names names;

    (void)state;
    memset(path, 'x', sizeof(path));
    memcpy(path + sizeof(path) - 9, ".service", 9);
    cgroup_parse(text(path), &names);
    assert_string_equal(names.unit, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_gives_name_state_threads_and_start),
        cmocka_unit_test(a_name_may_look_like_the_rest_of_the_line),
        cmocka_unit_test(stats_that_are_none_are_refused),
        cmocka_unit_test(status_gives_the_user_and_the_pid_as_the_process_sees_it),
        cmocka_unit_test(mappings_are_read_line_by_line),
        cmocka_unit_test(v2_is_preferred_unless_only_v1_knows_more),
        cmocka_unit_test(units_are_the_innermost),
        cmocka_unit_test(containers_of_every_runtime_are_found),
        cmocka_unit_test(what_only_looks_like_a_container_is_none),
        cmocka_unit_test(names_of_any_length_are_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
