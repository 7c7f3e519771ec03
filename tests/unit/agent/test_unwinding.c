/* unwinding: real samples of programs without frame pointers come to the root of their stacks.
 * Needs eBPF and perf events. */
#include "agent/host_source.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/agent/children.h"

enum { ENOUGH = 200, WAIT_STEPS = 300 /* of 100 ms */, DEEP_FRAMES = 25 };
#define PERIOD_NS (10 * NS_PER_MS)

struct seen { /* of samples of one program */
    const char *program;
    uint32_t samples, rooted, deep;
    uint32_t ends[WALK_ENDS];
};

static void look(void *arg, const struct resolved_sample *s)
{
    struct seen *seen = arg;

    if (s->pid == 0 || strcmp(s->comm, seen->program) != 0)
        return;
    seen->samples++;
    seen->ends[s->end]++;
    seen->rooted += s->end == WALK_ROOT;
    seen->deep += s->end == WALK_ROOT && s->frame_count >= DEEP_FRAMES;
}

static void print_seen(const struct seen *seen, const char *how)
{
    printf("%s %s: %u samples, %u to the root, %u of them %u deep;", seen->program, how,
           seen->samples, seen->rooted, seen->deep, DEEP_FRAMES);
    for (int i = 0; i < WALK_ENDS; i++)
        if (seen->ends[i] > 0)
            printf(" end %d: %u", i, seen->ends[i]);
    printf("\n");
}

static bool open_source(struct source **out)
{
    static const struct host_source_options options;
    char why[SOURCE_WHY_MAX] = "";

    if (host_source_open(&options, out, why) == ST_OK &&
        (*out)->operations->start(*out, EVENT_CPU, PERIOD_NS, why) == ST_OK)
        return true;
    printf("no samples here: %s\n", why);
    return false;
}

static struct seen watch(const char *path, const char *how)
{
    const struct timespec step = {.tv_nsec = 100L * 1000 * 1000};
    struct seen seen = {.program = strrchr(path, '/') + 1};
    char program[64], time[] = "600", mode[16];
    struct source *source = NULL;
    bool begun = false;
    pid_t child;

    (void)snprintf(program, sizeof(program), "%s", seen.program);
    (void)snprintf(mode, sizeof(mode), "%s", how);
    if (!open_source(&source))
        skip();
    child = run_program(path, (char *const[]){program, time, mode, NULL}, environ);
    for (int i = 0; i < WAIT_STEPS && seen.samples < ENOUGH; i++) {
        nanosleep(&step, NULL);
        (void)source->operations->drain(source, clock_mono(), look, &seen);
        begun = begun || (seen.samples > 0 && seen.rooted == seen.samples);
        if (!begun) /* its tables are being built, and copies of stacks are bounded */
            seen = (struct seen){.program = seen.program};
    }
    end_child(child);
    source->operations->stop(source, EVENT_CPU, clock_mono(), look, &seen);
    source->operations->close(source);
    print_seen(&seen, how);
    return seen;
}

/* 99 % of the samples: some fall in the loader, before there is such a stack. */
static void every_stack_comes_to_its_root(void **state)
{
    static const char *const ways[] = {"user", "kernel", "vdso", "signal", "plt"};

    (void)state;
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        struct seen seen = watch(DEEP, ways[i]);

        assert_true(seen.samples >= ENOUGH);
        assert_true(seen.rooted >= seen.samples / 100 * 99);
        assert_true(seen.deep >= seen.samples / 100 * 95);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_stack_comes_to_its_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
