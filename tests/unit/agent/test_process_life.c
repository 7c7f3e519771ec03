/* process: what real processes do to themselves, told by the side-band. Needs perf events. */
#include "agent/process/process.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "tests/unit/agent/children.h"
#include "tests/unit/agent/process_events.h"

#define RARE_LIBRARY "libBrokenLocale.so.1" /* of libc6; nobody has it mapped */

enum { PAGE = 4096, STORM_THREADS = 200 };

static struct sideband *sideband;

static struct history { /* of the whole host; texts are its own */
    struct sideband_event *events;
    size_t count, room;
} history;

static struct shared { /* between a child and the test */
    uint64_t first, second; /* addresses or ids */
} * shared;

static void keep_event(void *arg, const struct sideband_event *event)
{
    struct history *h = arg;

    if (h->count == h->room) {
        h->room = h->room == 0 ? 1024 : 2 * h->room;
        h->events = realloc(h->events, h->room * sizeof(*h->events));
        assert_non_null(h->events);
    }
    h->events[h->count] = *event;
    h->events[h->count].path = event->path != NULL ? strdup(event->path) : NULL;
    h->count++;
}

static int by_time(const void *left, const void *right)
{
    const struct sideband_event *a = left, *b = right;

    return (a->time.ns > b->time.ns) - (a->time.ns < b->time.ns);
}

static void forget(void)
{
    for (size_t i = 0; i < history.count; i++)
        free((char *)(uintptr_t)history.events[i].path);
    free(history.events);
    history = (struct history){0};
}

/* All that has happened since the last call, in its order. */
static void catch_up(void)
{
    sideband_drain(sideband, keep_event, &history);
    qsort(history.events, history.count, sizeof(history.events[0]), by_time);
    for (size_t i = 0; i < history.count; i++)
        processes_apply(table, &history.events[i]);
    now_ns = clock_mono().ns;
    forget();
}

static int make(void **state)
{
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || make_table(state) != 0)
        return -1;
    return sideband_open(&sideband) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    sideband_close(sideband);
    sideband = NULL;
    forget();
    (void)munmap(shared, PAGE);
    return drop_table(state);
}

/* A child that does `deed` and stays. Returns when it is done. */
static pid_t start_doing(void (*deed)(void))
{
    int ends[2];
    char byte = 0;
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        deed();
        (void)!write(ends[1], "", 1);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static const struct binary *binary_at(pid_t pid, uint64_t address)
{
    const struct mapping *m = processes_map(table, (uint32_t)pid, address);

    return m != NULL ? m->binary : NULL;
}

/* ---- mappings ---- */

static void load_a_library(void)
{
    void *library = dlopen(RARE_LIBRARY, RTLD_NOW);

    shared->first =
        library == NULL ? 0 : (uint64_t)(uintptr_t)dlsym(library, "__ctype_get_mb_cur_max");
}

static void a_library_that_is_loaded_late_is_known(void **state)
{
    pid_t child = start_doing(load_a_library);

    (void)state;
    catch_up();
    assert_int_not_equal(shared->first, 0);
    assert_non_null(binary_at(child, shared->first));
    assert_non_null(strstr(binary_at(child, shared->first)->path, RARE_LIBRARY));
    end_child(child);
}

/* Unloads it again, and makes code of its own where it was. */
static void map_over_a_library(void)
{
    void *library = dlopen(RARE_LIBRARY, RTLD_NOW), *page;

    shared->first =
        library == NULL ? 0 : (uint64_t)(uintptr_t)dlsym(library, "__ctype_get_mb_cur_max");
    dlclose(library);
    page = (void *)(uintptr_t)(shared->first & ~(uint64_t)(PAGE - 1));
    shared->second = mmap(page, PAGE, PROT_READ | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page;
}

static void addresses_that_are_used_again_belong_to_the_newcomer(void **state)
{
    pid_t child = start_doing(map_over_a_library);

    (void)state;
    catch_up();
    assert_int_equal(shared->second, 1);
    assert_non_null(processes_map(table, (uint32_t)child, shared->first));
    assert_null(binary_at(child, shared->first));
    end_child(child);
}

/* ---- threads ---- */

static void *return_at_once(void *arg)
{
    return arg;
}

static void storm_of_threads(void)
{
    for (int i = 0; i < STORM_THREADS; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, return_at_once, NULL) == 0)
            pthread_join(thread, NULL);
    }
}

static void a_storm_of_threads_does_not_end_its_process(void **state)
{
    pid_t child = start_doing(storm_of_threads);

    (void)state;
    catch_up();
    pass_time(60 * NS_PER_S);
    assert_int_equal(processes_read_counters(table).evicted, 0);
    assert_non_null(processes_map(table, (uint32_t)child, (uint64_t)(uintptr_t)return_at_once));
    end_child(child);
    catch_up();
    pass_time(60 * NS_PER_S);
    assert_null(processes_find(table, (uint32_t)child));
}

static void *become_another_program(void *arg)
{
    execl("/bin/sleep", "sleep", "1000", (char *)NULL);
    return arg;
}

static void let_a_thread_exec(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, become_another_program, NULL) == 0)
        pthread_join(thread, NULL); /* exec ends this thread */
}

static void a_program_that_a_thread_starts_takes_the_place_of_its_process(void **state)
{
    uint64_t here = (uint64_t)(uintptr_t)become_another_program;
    int ends[2];
    char byte;
    pid_t child;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0); /* closes when exec has happened */
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        let_a_thread_exec();
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    catch_up();
    pass_time(60 * NS_PER_S);
    assert_string_equal(processes_find(table, (uint32_t)child)->comm, "sleep");
    assert_null(processes_map(table, (uint32_t)child, here));
    end_child(child);
}

static void *rename_itself(void *arg)
{
    prctl(PR_SET_NAME, "worker");
    return arg;
}

static void rename_both(void)
{
    pthread_t thread;

    prctl(PR_SET_NAME, "leader");
    if (pthread_create(&thread, NULL, rename_itself, NULL) == 0)
        pthread_join(thread, NULL);
}

static void a_process_has_the_name_that_its_first_thread_took(void **state)
{
    pid_t child = start_doing(rename_both);
    const struct process *p;

    (void)state;
    catch_up();
    p = processes_find(table, (uint32_t)child);
    assert_string_equal(p->comm, "leader");
    assert_string_equal(labels_get(&p->labels, "comm"), "leader");
    end_child(child);
}

/* ---- ids that are used again ---- */

/* A child with that pid; -1: it is taken, or needs more rights. */
static pid_t fork_as(pid_t pid)
{
    struct clone_args args = {
        .exit_signal = SIGCHLD,
        .set_tid = (uint64_t)(uintptr_t)&pid,
        .set_tid_size = 1,
    };
    pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "second");
        for (;;)
            pause();
    }
    return child;
}

static void do_nothing(void)
{
    shared->second = (uint64_t)gettid();
}

static void wait_for_name(pid_t pid, const char *name)
{
    const struct timespec step = {.tv_nsec = 1000L * 1000};

    for (int i = 0; i < 10000; i++) {
        catch_up();
        if (strcmp(processes_find(table, (uint32_t)pid)->comm, name) == 0)
            return;
        nanosleep(&step, NULL);
    }
    fail();
}

static void a_pid_that_the_kernel_gives_again_is_another_process(void **state)
{
    const struct timespec tick = {.tv_nsec = 150L * 1000 * 1000}; /* no machine is quicker */
    pid_t first = start_doing(do_nothing);
    uint64_t serial, start;

    (void)state;
    catch_up();
    serial = processes_find(table, (uint32_t)first)->serial;
    start = processes_find(table, (uint32_t)first)->start_ns;
    nanosleep(&tick, NULL);
    end_child(first);
    if (fork_as(first) != first)
        skip(); /* not ours to choose, or already somebody else's */
    wait_for_name(first, "second");
    assert_true(processes_find(table, (uint32_t)first)->serial != serial);
    assert_true(processes_find(table, (uint32_t)first)->start_ns > start);
    end_child(first);
}

static void *tell_id(void *arg)
{
    shared->first = (uint64_t)gettid();
    return arg;
}

static void have_had_a_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, tell_id, NULL) == 0)
        pthread_join(thread, NULL);
}

static void a_thread_id_that_becomes_a_pid_is_another_process(void **state)
{
    pid_t child = start_doing(have_had_a_thread);
    pid_t tid = (pid_t)shared->first;

    (void)state;
    catch_up();
    if (fork_as(tid) != tid)
        skip();
    wait_for_name(tid, "second");
    assert_int_equal(processes_find(table, (uint32_t)tid)->pid, tid);
    assert_string_not_equal(processes_find(table, (uint32_t)child)->comm, "second");
    end_child(tid);
    catch_up();
    pass_time(60 * NS_PER_S);
    assert_null(processes_find(table, (uint32_t)tid));
    assert_non_null(processes_find(table, (uint32_t)child));
    end_child(child);
}

int main(void)
{
#define WITH_SIDEBAND(test) cmocka_unit_test_setup_teardown(test, make, drop)
    const struct CMUnitTest tests[] = {
        WITH_SIDEBAND(a_library_that_is_loaded_late_is_known),
        WITH_SIDEBAND(addresses_that_are_used_again_belong_to_the_newcomer),
        WITH_SIDEBAND(a_storm_of_threads_does_not_end_its_process),
        WITH_SIDEBAND(a_program_that_a_thread_starts_takes_the_place_of_its_process),
        WITH_SIDEBAND(a_process_has_the_name_that_its_first_thread_took),
        WITH_SIDEBAND(a_pid_that_the_kernel_gives_again_is_another_process),
        WITH_SIDEBAND(a_thread_id_that_becomes_a_pid_is_another_process),
    };

    if (sideband_open(&sideband) != ST_OK) {
        printf("SKIPPED: needs the right to open perf events\n");
        return 77;
    }
    sideband_close(sideband);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
