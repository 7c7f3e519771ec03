/* process: real processes of this host, by /proc and by the side-band. */
#include "agent/process/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/symbols/elf.h"
#include "tests/support/cgroup2.h"
#include "tests/unit/agent/children.h"
#include "tests/unit/agent/process_events.h"

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
    note_cgroup((uint32_t)getpid(), 1);
    self = processes_find(table, (uint32_t)getpid());
    assert_string_equal(self->comm, "test_process_li");
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
    assert_string_equal(processes_find(table, (uint32_t)getpid())->comm, "test_process_li");
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
    pid_t child = start_idle();

    (void)state;
    birth.pid = birth.tid = (uint32_t)child;
    birth.time = clock_mono();
    serial = processes_find(table, (uint32_t)child)->serial;
    processes_apply(table, &birth);
    assert_true(processes_find(table, (uint32_t)child)->serial == serial);
    assert_non_null(processes_map(table, (uint32_t)child, address));
    end_child(child);
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
    const struct timespec step = {.tv_nsec = 1000L * 1000};

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
    end_child(child);
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

struct life { /* the events of one process, which may have run on several CPUs */
    uint32_t pid;
    struct sideband_event events[64];
    char paths[64][128];
    size_t count;
};

static void keep_event(void *arg, const struct sideband_event *event)
{
    struct life *life = arg;
    struct sideband_event *e = &life->events[life->count];

    if (event->pid != life->pid || life->count == 64)
        return;
    *e = *event;
    e->path = life->paths[life->count];
    if (event->path != NULL)
        (void)snprintf(life->paths[life->count], sizeof(life->paths[0]), "%s", event->path);
    life->count++;
}

static int by_time(const void *left, const void *right)
{
    const struct sideband_event *a = left, *b = right;

    return (a->time.ns > b->time.ns) - (a->time.ns < b->time.ns);
}

/* Applies the life in the order it was lived; the address at which `path` was mapped. */
static uint64_t replay(struct life *life, const char *path)
{
    uint64_t address = 0;

    qsort(life->events, life->count, sizeof(life->events[0]), by_time);
    for (size_t i = 0; i < life->count; i++) {
        if (life->events[i].kind == SIDEBAND_MMAP && strcmp(life->events[i].path, path) == 0)
            address = life->events[i].start;
        processes_apply(table, &life->events[i]);
    }
    return address;
}

static void a_program_that_ended_before_its_first_look_up_is_known(void **state)
{
    char folder[] = "/tmp/fleetprof-test-XXXXXX", path[64];
    static struct life life;
    struct sideband *sideband = NULL;
    const struct mapping *m;
    uint64_t address;

    (void)state;
    if (sideband_open(&sideband) != ST_OK)
        skip(); /* needs the right to open perf events */
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/short", folder);
    copy_file("/bin/sleep", path);
    life.pid = (uint32_t)run_copy(path);
    kill((pid_t)life.pid, SIGKILL);
    waitpid((pid_t)life.pid, NULL, 0);
    sideband_drain(sideband, keep_event, &life);
    sideband_close(sideband);

    address = replay(&life, path);
    assert_string_equal(processes_find(table, life.pid)->comm, "short");
    m = processes_map(table, life.pid, address);
    assert_string_equal(m->binary->path, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_can_be_opened(m->binary);
}

static void a_scan_of_a_scope_meets_only_what_is_in_it(void **state)
{
    char path[CGROUP2_PATH_MAX], below[CGROUP2_PATH_MAX + 8];
    pid_t first, second;

    (void)state;
    if (!cgroup2_make("", path))
        skip();
    (void)snprintf(below, sizeof(below), "%s/below", path);
    assert_int_equal(mkdir(below, 0755), 0);
    first = start_idle();
    second = start_idle();
    assert_true(cgroup2_join(path, first) && cgroup2_join(below, second));
    assert_int_equal(processes_scan(table, path), ST_OK);
    assert_int_equal(processes_read_counters(table).processes, 2);
    kill(first, SIGKILL);
    kill(second, SIGKILL);
    waitpid(first, NULL, 0);
    waitpid(second, NULL, 0);
    assert_int_equal(rmdir(below), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(processes_scan(table, path), ST_NOT_FOUND);
}

/* The map of this test, which names memory that it has mapped for code. */
static void write_map(const char *line, uint64_t start)
{
    char path[64];
    FILE *f;

    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    f = fopen(path, "a");
    assert_non_null(f);
    assert_true(fprintf(f, "%lx 100 %s\n", (unsigned long)start, line) > 0);
    assert_int_equal(fclose(f), 0);
}

static void code_that_a_process_makes_has_the_names_that_it_gives(void **state)
{
    uint32_t self = (uint32_t)getpid();
    void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t at = (uint64_t)(uintptr_t)code;
    struct sighting next = {.time = clock_mono(), .pid = self};
    char path[64];

    (void)state;
    assert_ptr_not_equal(code, MAP_FAILED);
    write_map("JS:*spin /srv/app.js:3:14", at);
    processes_note(table, &next);
    assert_non_null(processes_find(table, self));
    assert_string_equal(processes_name_jit(table, self, at + 5), "JS:*spin /srv/app.js:3:14");
    assert_null(processes_name_jit(table, self, at + 0x100));
    assert_false(processes_map(table, self, at)->trampolines);
    assert_true(processes_read_counters(table).jit_bytes > 0);

    write_map("py::spin:/srv/app.py", at);
    next.time = mono_after(next.time, NS_PER_S);
    processes_note(table, &next);
    assert_string_equal(processes_name_jit(table, self, at), "py::spin:/srv/app.py");
    assert_true(processes_map(table, self, at)->trampolines);
    map_memory(self, at, 2 * 4096); /* grown: still what it was */
    assert_true(processes_map(table, self, at)->trampolines);

    rename_thread(SIDEBAND_EXEC, self, self, "other");
    assert_int_equal(processes_read_counters(table).jit_bytes, 0);
    assert_int_equal(munmap(code, 4096), 0);
    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    assert_int_equal(unlink(path), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TABLE(a_scan_finds_this_test_and_its_code),
        WITH_TABLE(an_unknown_process_is_read_when_it_is_asked_for),
        WITH_TABLE(two_scans_agree_about_a_process),
        WITH_TABLE(a_late_birth_of_a_scanned_process_changes_nothing),
        WITH_TABLE(a_process_whose_first_thread_is_gone_is_not_taken_for_dead),
        WITH_TABLE(a_deleted_program_can_still_be_read),
        WITH_TABLE(a_program_that_ended_before_its_first_look_up_is_known),
        WITH_TABLE(a_scan_of_a_scope_meets_only_what_is_in_it),
        WITH_TABLE(code_that_a_process_makes_has_the_names_that_it_gives),
        WITH_TABLE(an_unknown_binary_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
