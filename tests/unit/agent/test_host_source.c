/* host_source: real samples of short processes, and of processes in other pid namespaces. Needs
 * eBPF and perf events. */
#include "agent/host_source.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>

#include <cmocka.h>

#include "agent/resolve.h"
#include "tests/unit/agent/children.h"

enum { EXIT_SKIPPED = 77, SHORT_PROCESSES = 200, ENOUGH = 20, WAIT_STEPS = 600 /* of 100 ms */ };
#define PERIOD_NS NS_PER_MS

static struct source *source;

struct seen { /* of samples */
    uint32_t burning; /* of processes called "burn" */
    uint32_t named; /* and whose innermost frame lies in a file with an identity */
    uint32_t invisible; /* of processes that the agent cannot see */
};

static void look(void *arg, const struct resolved_sample *s)
{
    const struct resolved_frame *leaf = &s->frames[s->frame_count - 1];
    struct seen *seen = arg;

    if (s->pid == 0 &&
        strcmp(s->frames[0].name != NULL ? s->frames[0].name : "", MARK_INVISIBLE) == 0)
        seen->invisible++;
    if (s->pid == 0 || strcmp(s->comm, "burn") != 0)
        return;
    seen->burning++;
    if ((leaf->kind == FRAME_NATIVE && leaf->binary->length > 0) || leaf->kind == FRAME_KERNEL)
        seen->named++;
}

static bool start_source(void)
{
    static const struct host_source_options options;
    char why[SOURCE_WHY_MAX] = "";

    if (host_source_open(&options, &source, why) == ST_OK &&
        source->operations->start(source, EVENT_CPU, PERIOD_NS, why) == ST_OK)
        return true;
    printf("no samples here: %s\n", why);
    return false;
}

static void stop_source(struct seen *seen)
{
    source->operations->stop(source, EVENT_CPU, clock_mono(), look, seen);
    source->operations->close(source);
    source = NULL;
}

static void wait_and_drain(struct seen *seen)
{
    const struct timespec step = {.tv_nsec = 100L * 1000 * 1000};

    nanosleep(&step, NULL);
    (void)source->operations->drain(source, clock_mono(), look, seen);
}

static pid_t start_burning(const char *seconds)
{
    char program[] = "burn", time[16], share[] = "alpha=100";

    (void)snprintf(time, sizeof(time), "%s", seconds);
    return run_program(BURN, (char *const[]){program, time, share, NULL}, environ);
}

static void processes_that_live_20_ms_have_named_stacks(void **state)
{
    struct seen seen = {0};

    (void)state;
    if (!start_source())
        skip();
    for (int i = 0; i < SHORT_PROCESSES; i++) {
        waitpid(start_burning("0.02"), NULL, 0);
        if (i % 10 == 9)
            wait_and_drain(&seen); /* by then they are gone */
    }
    stop_source(&seen);
    printf("%u of %u samples of %d short processes have names\n", seen.named, seen.burning,
           SHORT_PROCESSES);
    assert_true(seen.burning > SHORT_PROCESSES);
    assert_true(seen.named >= seen.burning / 100 * 99);
}

/* The first process of a pid namespace, with its own /proc. Its exit status is the verdict. */
static int live_in_a_namespace(void)
{
    struct seen seen = {0};
    pid_t burner;
    bool says_so;

    if (mount("proc", "/proc", "proc", 0, NULL) != 0 || !start_source())
        return EXIT_SKIPPED;
    burner = start_burning("600");
    for (int i = 0; i < WAIT_STEPS && (seen.named < ENOUGH || seen.invisible < ENOUGH); i++)
        wait_and_drain(&seen);
    end_child(burner);
    says_so = strstr(source->operations->degraded(source), "pid namespace") != NULL;
    printf("%u of %u samples inside have names; %u are of processes outside; %s\n", seen.named,
           seen.burning, seen.invisible, source->operations->degraded(source));
    stop_source(&seen);
    return seen.named >= ENOUGH && seen.invisible >= ENOUGH && says_so ? 0 : 1;
}

static int in_a_namespace(int (*live)(void))
{
    int status = -1;
    pid_t child = fork();

    if (child == 0) {
        pid_t first;

        if (unshare(CLONE_NEWPID | CLONE_NEWNS) != 0 ||
            mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
            _exit(EXIT_SKIPPED);
        first = fork();
        if (first == 0)
            _exit(live());
        waitpid(first, &status, 0);
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void an_agent_in_a_pid_namespace_names_its_own_and_counts_the_others(void **state)
{
    pid_t outside = start_burning("600");
    int verdict;

    (void)state;
    verdict = in_a_namespace(live_in_a_namespace);
    end_child(outside);
    if (verdict == EXIT_SKIPPED)
        skip();
    assert_int_equal(verdict, 0);
}

static int live_with_a_foreign_proc(void)
{
    static const struct host_source_options options;
    char why[SOURCE_WHY_MAX] = "";
    enum status st = host_source_open(&options, &source, why); /* /proc is still the outer one */

    return st == ST_UNSUPPORTED && strstr(why, "pid namespace") != NULL ? 0 : 1;
}

static void an_agent_that_sees_the_pids_of_another_namespace_does_not_start(void **state)
{
    int verdict = in_a_namespace(live_with_a_foreign_proc);

    (void)state;
    if (verdict == EXIT_SKIPPED)
        skip();
    assert_int_equal(verdict, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_that_live_20_ms_have_named_stacks),
        cmocka_unit_test(an_agent_in_a_pid_namespace_names_its_own_and_counts_the_others),
        cmocka_unit_test(an_agent_that_sees_the_pids_of_another_namespace_does_not_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
