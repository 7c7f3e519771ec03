/* sideband: every process that is born, turns into another program and dies is reported, in order.
 * Needs the right to open perf events for the whole host. */
#include "agent/process/sideband.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { EXIT_SKIPPED = 77, CHILDREN = 300, BATCH = 20 /* children between two drains */ };

struct life { /* times of what was seen of one child; 0: not seen */
    pid_t pid;
    uint64_t born, became, mapped, died;
    bool right_parent, right_name, has_build_id;
};

static struct life lives[CHILDREN];
static uint32_t thread_births;

static struct life *find(uint32_t pid)
{
    for (int i = 0; i < CHILDREN; i++)
        if (lives[i].pid == (pid_t)pid)
            return &lives[i];
    return NULL;
}

static void on_event(void *arg, const struct sideband_event *e)
{
    struct life *life = find(e->pid);

    (void)arg;
    if (e->kind == SIDEBAND_FORK && e->pid == (uint32_t)getpid() && e->tid != e->pid)
        thread_births++;
    if (life == NULL)
        return;
    switch (e->kind) {
    case SIDEBAND_FORK:
        life->born = e->time.ns;
        life->right_parent = e->parent_pid == (uint32_t)getpid();
        break;
    case SIDEBAND_EXEC:
        life->became = e->time.ns;
        life->right_name = strcmp(e->comm, "true") == 0;
        break;
    case SIDEBAND_MMAP:
        if (life->mapped != 0 || strstr(e->path, "/true") == NULL)
            break;
        life->mapped = e->time.ns;
        life->has_build_id = e->build_id.length > 0;
        break;
    case SIDEBAND_EXIT:
        life->died = e->time.ns;
        break;
    case SIDEBAND_COMM:
        break;
    }
}

static pid_t run_true(void)
{
    pid_t child = fork();

    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return child;
}

static void run_batch(struct life *batch)
{
    for (int i = 0; i < BATCH; i++) {
        batch[i].pid = run_true();
        assert_true(batch[i].pid > 0);
    }
    for (int i = 0; i < BATCH; i++)
        assert_int_equal(waitpid(batch[i].pid, NULL, 0), batch[i].pid);
}

static void every_child_is_seen_from_birth_to_death(void **state)
{
    struct sideband_counters counters;
    struct sideband *s = NULL;

    (void)state;
    assert_int_equal(sideband_open(&s), ST_OK);
    for (int first = 0; first < CHILDREN; first += BATCH) {
        run_batch(&lives[first]);
        sideband_drain(s, on_event, NULL);
    }
    for (int i = 0; i < CHILDREN; i++) {
        struct life *l = &lives[i];

        assert_true(l->right_parent && l->right_name);
        assert_true(0 < l->born && l->born < l->became && l->became < l->mapped);
        assert_true(l->mapped < l->died);
        assert_int_equal(l->has_build_id, lives[0].has_build_id);
    }
    counters = sideband_read_counters(s);
    assert_int_equal(counters.lost, 0);
    assert_true(counters.events / 4 >= CHILDREN);
    assert_true(counters.map_bytes > 0);
    assert_int_equal(sideband_follow_cpus(s), ST_OK);
    sideband_close(s);
}

static void *idle_thread(void *arg)
{
    return arg;
}

static void a_new_thread_is_a_fork_within_its_process(void **state)
{
    struct sideband *s = NULL;
    pthread_t thread;

    (void)state;
    assert_int_equal(sideband_open(&s), ST_OK);
    thread_births = 0;
    assert_int_equal(pthread_create(&thread, NULL, idle_thread, NULL), 0);
    pthread_join(thread, NULL);
    sideband_drain(s, on_event, NULL);
    assert_int_equal(thread_births, 1);
    sideband_close(s);
}

static void what_does_not_fit_is_counted(void **state)
{
    struct sideband *s = NULL;
    uint64_t lost = 0;

    (void)state;
    assert_int_equal(sideband_open(&s), ST_OK);
    for (int i = 0; i < 40 && lost == 0; i++) {
        for (int n = 0; n < CHILDREN; n += BATCH)
            run_batch(&lives[n]);
        if (i % 4 == 3) { /* the kernel says so with the first record that fits again */
            sideband_drain(s, on_event, NULL);
            run_batch(lives);
            sideband_drain(s, on_event, NULL);
        }
        lost = sideband_read_counters(s).lost;
    }
    assert_true(lost > 0);
    sideband_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_child_is_seen_from_birth_to_death),
        cmocka_unit_test(a_new_thread_is_a_fork_within_its_process),
        cmocka_unit_test(what_does_not_fit_is_counted),
    };
    struct sideband *s = NULL;
    enum status st = sideband_open(&s);

    sideband_close(s);
    if (st != ST_OK) {
        (void)fprintf(stderr, "skipped: side-band events: %s\n", status_text(st));
        return EXIT_SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
