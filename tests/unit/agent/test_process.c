/* process: made-up events on pids that no kernel gives, and real processes of this host. */
#include "agent/process/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/symbols/elf.h"

enum {
    FIRST_PID = 1 << 23, /* above PID_MAX_LIMIT: never in /proc */
    PARENT = FIRST_PID,
    CHILD,
    OTHER,
};

static struct processes *table;
static uint64_t now_ns;

static int make_table(void **state)
{
    (void)state;
    now_ns = clock_mono().ns;
    return processes_new(&table) == ST_OK ? 0 : -1;
}

static int drop_table(void **state)
{
    (void)state;
    processes_free(table);
    return 0;
}

static void apply(struct sideband_event e)
{
    now_ns += NS_PER_MS;
    e.time.ns = now_ns;
    processes_apply(table, &e);
}

static void fork_process(uint32_t parent, uint32_t pid)
{
    apply((struct sideband_event){
        .kind = SIDEBAND_FORK, .pid = pid, .tid = pid, .parent_pid = parent});
}

static void start_thread(uint32_t pid, uint32_t tid)
{
    apply(
        (struct sideband_event){.kind = SIDEBAND_FORK, .pid = pid, .tid = tid, .parent_pid = pid});
}

static void end_thread(uint32_t pid, uint32_t tid)
{
    apply((struct sideband_event){.kind = SIDEBAND_EXIT, .pid = pid, .tid = tid});
}

static void rename_thread(enum sideband_kind kind, uint32_t pid, uint32_t tid, const char *comm)
{
    struct sideband_event e = {.kind = kind, .pid = pid, .tid = tid};

    (void)snprintf(e.comm, sizeof(e.comm), "%s", comm);
    apply(e);
}

static void map_file(uint32_t pid, uint64_t start, uint8_t id, const char *path)
{
    apply((struct sideband_event){.kind = SIDEBAND_MMAP,
                                  .pid = pid,
                                  .tid = pid,
                                  .start = start,
                                  .length = 0x1000,
                                  .build_id = {.length = id != 0 ? 20 : 0, .bytes = {id}},
                                  .path = path});
}

static void pass_time(uint64_t ns)
{
    now_ns += ns;
    end_thread(OTHER + 1000, OTHER + 1000); /* of a process that nobody knows */
}

static void a_child_has_its_parents_mappings_until_it_becomes_another_program(void **state)
{
    (void)state;
    fork_process(1, PARENT);
    rename_thread(SIDEBAND_EXEC, PARENT, PARENT, "shell");
    map_file(PARENT, 0x1000, 1, "/no/such/shell");
    fork_process(PARENT, CHILD);
    assert_string_equal(processes_find(table, CHILD)->comm, "shell");
    assert_string_equal(processes_map(table, CHILD, 0x1800)->binary->path, "/no/such/shell");
    rename_thread(SIDEBAND_EXEC, CHILD, CHILD, "tool");
    assert_null(processes_map(table, CHILD, 0x1800));
    map_file(CHILD, 0x1000, 2, "/no/such/tool");
    assert_string_equal(processes_find(table, CHILD)->comm, "tool");
    assert_string_equal(processes_map(table, CHILD, 0x1800)->binary->path, "/no/such/tool");
    assert_string_equal(processes_map(table, PARENT, 0x1800)->binary->path, "/no/such/shell");
}

static void an_exec_is_a_new_serial_and_a_rename_is_not(void **state)
{
    uint64_t serial;

    (void)state;
    fork_process(1, PARENT);
    serial = processes_find(table, PARENT)->serial;
    rename_thread(SIDEBAND_COMM, PARENT, PARENT, "title");
    assert_true(processes_find(table, PARENT)->serial == serial);
    assert_string_equal(processes_find(table, PARENT)->comm, "title");
    assert_string_equal(labels_get(&processes_find(table, PARENT)->labels, "comm"), "title");
    rename_thread(SIDEBAND_COMM, PARENT, PARENT + 7, "worker");
    assert_string_equal(processes_find(table, PARENT)->comm, "title");
    rename_thread(SIDEBAND_EXEC, PARENT, PARENT, "title");
    assert_true(processes_find(table, PARENT)->serial != serial);
}

static void a_process_lives_as_long_as_one_thread(void **state)
{
    (void)state;
    fork_process(1, PARENT);
    start_thread(PARENT, CHILD);
    end_thread(PARENT, PARENT); /* the first thread goes */
    pass_time(60 * NS_PER_S);
    assert_non_null(processes_find(table, PARENT));
    end_thread(PARENT, CHILD);
    pass_time(60 * NS_PER_S);
    assert_null(processes_find(table, PARENT));
}

static void an_ended_process_can_be_asked_for_a_little_longer(void **state)
{
    (void)state;
    fork_process(1, PARENT);
    map_file(PARENT, 0x1000, 1, "/no/such/tool");
    end_thread(PARENT, PARENT);
    pass_time(9 * NS_PER_S);
    assert_non_null(processes_find(table, PARENT));
    assert_non_null(processes_map(table, PARENT, 0x1000));
    pass_time(2 * NS_PER_S);
    assert_null(processes_find(table, PARENT));
    assert_int_equal(processes_read_counters(table).processes, 0);
}

static void a_pid_that_is_used_again_is_a_new_process(void **state)
{
    uint64_t serial, start;

    (void)state;
    fork_process(1, PARENT);
    map_file(PARENT, 0x1000, 1, "/no/such/tool");
    serial = processes_find(table, PARENT)->serial;
    start = processes_find(table, PARENT)->start_ns;
    now_ns += NS_PER_S; /* its end goes unseen */
    fork_process(1, PARENT);
    assert_true(processes_find(table, PARENT)->serial != serial);
    assert_true(processes_find(table, PARENT)->start_ns > start);
    assert_null(processes_map(table, PARENT, 0x1000));
}

static void one_build_id_is_one_binary(void **state)
{
    const struct binary *b;

    (void)state;
    fork_process(1, PARENT);
    fork_process(1, CHILD);
    map_file(PARENT, 0x1000, 9, "/one/path");
    map_file(CHILD, 0x5000, 9, "/another/path");
    map_file(CHILD, 0x9000, 8, "/one/path");
    b = processes_map(table, PARENT, 0x1000)->binary;
    assert_ptr_equal(processes_map(table, CHILD, 0x5000)->binary, b);
    assert_string_equal(b->path, "/one/path");
    assert_int_not_equal(processes_map(table, CHILD, 0x9000)->binary->index, b->index);
    assert_int_equal(processes_read_counters(table).binaries, 2);
}

static void memory_without_a_file_has_no_binary(void **state)
{
    static const char *const names[] = {"//anon", "[heap]", "/memfd:jit (deleted)", "",
                                        "/dev/zero (deleted)"};

    (void)state;
    fork_process(1, PARENT);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        map_file(PARENT, 0x10000 * (i + 1), 0, names[i]);
        assert_null(processes_map(table, PARENT, 0x10000 * (i + 1))->binary);
    }
    assert_int_equal(processes_read_counters(table).unreadable_binaries, 0);
}

static void a_file_that_cannot_be_read_is_counted_and_keeps_its_path(void **state)
{
    const struct binary *b;

    (void)state;
    fork_process(1, PARENT);
    map_file(PARENT, 0x1000, 0, "/no/such/library.so");
    b = processes_map(table, PARENT, 0x1000)->binary;
    assert_int_equal(b->id.length, 0);
    assert_string_equal(b->path, "/no/such/library.so");
    assert_int_equal(processes_read_counters(table).unreadable_binaries, 1);
}

static void impossible_mappings_are_counted(void **state)
{
    struct sideband_event e = {.kind = SIDEBAND_MMAP,
                               .pid = PARENT,
                               .start = UINT64_MAX - 10,
                               .length = 100,
                               .path = "//anon"};

    (void)state;
    fork_process(1, PARENT);
    apply(e);
    assert_int_equal(processes_read_counters(table).mappings_refused, 1);
}

static void a_full_table_gives_up_the_one_that_was_not_asked_for(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PROCESSES_MAX; i++)
        fork_process(PARENT - 1, FIRST_PID + i);
    assert_non_null(processes_find(table, FIRST_PID)); /* the oldest, but needed */
    fork_process(PARENT - 1, FIRST_PID + PROCESSES_MAX);
    assert_int_equal(processes_read_counters(table).evicted, 1);
    assert_int_equal(processes_read_counters(table).processes, PROCESSES_MAX);
    assert_non_null(processes_find(table, FIRST_PID));
    assert_null(processes_find(table, FIRST_PID + 1));
}

/* ---- real processes ---- */

static void a_scan_finds_this_test_and_its_code(void **state)
{
    const struct process *self;
    const struct mapping *m;
    uint64_t here = (uint64_t)(uintptr_t)a_scan_finds_this_test_and_its_code;
    struct build_id id;
    struct symtab t = {0};
    int fd = -1;

    (void)state;
    assert_int_equal(processes_scan(table, NULL), ST_OK);
    self = processes_find(table, (uint32_t)getpid());
    assert_string_equal(self->comm, "test_process");
    assert_non_null(labels_get(&self->labels, "cgroup"));
    m = processes_map(table, (uint32_t)getpid(), here);
    assert_int_equal(processes_open_binary(table, &m->binary->id, &fd), ST_OK);
    assert_int_equal(elf_build_id(fd, &id), ST_OK);
    assert_true(build_id_equal(&id, &m->binary->id));
    assert_int_equal(elf_symbols(fd, &t), ST_OK);
    assert_string_equal(symtab_find(&t, here - m->start + m->file_offset),
                        "a_scan_finds_this_test_and_its_code");
    symtab_deinit(&t);
    close(fd);
}

static void an_unknown_process_is_read_when_it_is_asked_for(void **state)
{
    (void)state;
    assert_string_equal(processes_find(table, (uint32_t)getpid())->comm, "test_process");
    assert_null(processes_find(table, PARENT));
}

static void two_scans_agree_about_a_process(void **state)
{
    const struct process *self;
    uint64_t serial, start;

    (void)state;
    assert_int_equal(processes_scan(table, NULL), ST_OK);
    self = processes_find(table, (uint32_t)getpid());
    serial = self->serial;
    start = self->start_ns;
    fork_process(1, PARENT); /* one that is not there */
    assert_int_equal(processes_scan(table, NULL), ST_OK);
    self = processes_find(table, (uint32_t)getpid());
    assert_true(self->serial == serial && self->start_ns == start);
    pass_time(11 * NS_PER_S);
    assert_null(processes_find(table, PARENT)); /* the second scan did not meet it */
}

static void a_late_birth_of_a_scanned_process_changes_nothing(void **state)
{
    uint64_t serial, address = (uint64_t)(uintptr_t)make_table;
    struct sideband_event birth = {.kind = SIDEBAND_FORK, .parent_pid = 1};
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    birth.pid = birth.tid = (uint32_t)child;
    birth.time = clock_mono();
    serial = processes_find(table, (uint32_t)child)->serial;
    processes_apply(table, &birth);
    assert_true(processes_find(table, (uint32_t)child)->serial == serial);
    assert_non_null(processes_map(table, (uint32_t)child, address));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void *pause_forever(void *arg)
{
    for (;;)
        pause();
    return arg;
}

static pid_t start_leaderless(void)
{
    pid_t child = fork();

    if (child == 0) {
        pthread_t thread;

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (pthread_create(&thread, NULL, pause_forever, NULL) != 0)
            _exit(1);
        pthread_exit(NULL); /* the first thread ends, the process goes on */
    }
    return child;
}

static void wait_for_zombie_leader(pid_t pid)
{
    char path[64], text[256] = "";
    const struct timespec step = {.tv_nsec = 1000 * 1000};

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (int i = 0; i < 10000 && strstr(text, ") Z ") == NULL; i++) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);

        assert_true(read(fd, text, sizeof(text) - 1) > 0);
        close(fd);
        nanosleep(&step, NULL);
    }
    assert_non_null(strstr(text, ") Z "));
}

static void a_process_whose_first_thread_is_gone_is_not_taken_for_dead(void **state)
{
    pid_t child = start_leaderless();

    (void)state;
    wait_for_zombie_leader(child);
    assert_non_null(processes_find(table, (uint32_t)child));
    for (int i = 0; i < 3; i++) /* more ends than births were seen: /proc decides */
        end_thread((uint32_t)child, (uint32_t)child);
    pass_time(11 * NS_PER_S);
    assert_int_equal(processes_read_counters(table).processes, 1);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    ssize_t got;

    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof(bytes))) > 0)
        assert_int_equal(write(out, bytes, (size_t)got), got);
    close(in);
    close(out);
}

/* Runs a copy of /bin/sleep and returns once it is that program. */
static pid_t run_copy(const char *path)
{
    int ends[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0); /* closes when exec has happened */
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(path, "sleep", "1000", (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    return child;
}

static const struct binary *find_binary(uint32_t pid, const char *path)
{
    char maps[64], line[512];
    uint64_t address;
    const struct binary *found = NULL;
    FILE *f;

    (void)snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
    f = fopen(maps, "re");
    while (found == NULL && f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (strstr(line, path) == NULL || strstr(line, "r-xp") == NULL)
            continue;
        address = strtoull(line, NULL, 16);
        found = processes_map(table, pid, address)->binary;
    }
    if (f != NULL)
        fclose(f);
    return found;
}

static void assert_can_be_opened(const struct binary *b)
{
    struct build_id id;
    int fd = -1;

    assert_int_equal(processes_open_binary(table, &b->id, &fd), ST_OK);
    assert_int_equal(elf_build_id(fd, &id), ST_OK);
    assert_true(build_id_equal(&id, &b->id));
    close(fd);
}

static void a_deleted_program_can_still_be_read(void **state)
{
    char folder[] = "/tmp/fleetprof-test-XXXXXX", before[64], after[64];
    const struct binary *b;
    pid_t child, late;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(before, sizeof(before), "%s/before", folder);
    (void)snprintf(after, sizeof(after), "%s/after", folder);
    copy_file("/bin/sleep", before);
    copy_file("/bin/cat", after); /* another program takes its name, and its process stays */
    child = run_copy(before);
    assert_non_null(processes_find(table, (uint32_t)child));
    b = find_binary((uint32_t)child, before);
    assert_non_null(b);
    assert_int_equal(rename(after, before), 0);
    assert_can_be_opened(b);

    copy_file("/bin/sleep", after); /* deleted before we come */
    late = run_copy(after);
    assert_int_equal(unlink(after), 0);
    assert_non_null(processes_find(table, (uint32_t)late));
    assert_ptr_equal(find_binary((uint32_t)late, after), b);

    kill(child, SIGKILL);
    kill(late, SIGKILL);
    waitpid(child, NULL, 0);
    waitpid(late, NULL, 0);
    assert_can_be_opened(b); /* and when it has ended */
    assert_int_equal(unlink(before), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void an_unknown_binary_is_not_found(void **state)
{
    struct build_id id = {.length = 20, .bytes = {1, 2, 3}}, none = {0};
    int fd = -1;

    (void)state;
    assert_int_equal(processes_open_binary(table, &id, &fd), ST_NOT_FOUND);
    assert_int_equal(processes_open_binary(table, &none, &fd), ST_NOT_FOUND);
    assert_int_equal(fd, -1);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, make_table, drop_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TABLE(a_child_has_its_parents_mappings_until_it_becomes_another_program),
        WITH_TABLE(an_exec_is_a_new_serial_and_a_rename_is_not),
        WITH_TABLE(a_process_lives_as_long_as_one_thread),
        WITH_TABLE(an_ended_process_can_be_asked_for_a_little_longer),
        WITH_TABLE(a_pid_that_is_used_again_is_a_new_process),
        WITH_TABLE(one_build_id_is_one_binary),
        WITH_TABLE(memory_without_a_file_has_no_binary),
        WITH_TABLE(a_file_that_cannot_be_read_is_counted_and_keeps_its_path),
        WITH_TABLE(impossible_mappings_are_counted),
        WITH_TABLE(a_full_table_gives_up_the_one_that_was_not_asked_for),
        WITH_TABLE(a_scan_finds_this_test_and_its_code),
        WITH_TABLE(an_unknown_process_is_read_when_it_is_asked_for),
        WITH_TABLE(two_scans_agree_about_a_process),
        WITH_TABLE(a_late_birth_of_a_scanned_process_changes_nothing),
        WITH_TABLE(a_process_whose_first_thread_is_gone_is_not_taken_for_dead),
        WITH_TABLE(a_deleted_program_can_still_be_read),
        WITH_TABLE(an_unknown_binary_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
