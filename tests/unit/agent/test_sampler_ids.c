/* sampler in a pid namespace of its own, and on hosts with a v1 memory hierarchy: samples name
 * processes as the agent sees them. Needs root. */
#include "agent/sampler/sampler.h"

#include <sched.h>
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { EXIT_SKIPPED = 77, WAIT_STEPS = 6000 /* of 10 ms */, LINE_MAX_BYTES = 4096, SAMPLES = 5 };

struct seen {
    uint32_t pid; /* of whom */
    uint64_t samples, of_other_threads, invisible;
    uint64_t cgroup_v1;
};

static pid_t start_burner(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile uint64_t sink = 0;; sink++)
            continue;
    }
    return pid;
}

static void end_burner(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void on_sample(void *arg, const struct sample *s)
{
    struct seen *seen = arg;

    seen->invisible += s->pid == 0;
    if (s->pid != seen->pid)
        return;
    seen->samples++;
    seen->of_other_threads += s->tid != seen->pid;
    seen->cgroup_v1 = s->cgroup_v1;
}

/* Samples the host until `seen` has enough of its process; false: it never had. */
static bool sample_host(struct seen *seen, bool want_invisible)
{
    const struct timespec step = {.tv_nsec = 10L * 1000 * 1000};
    const struct sampler_options options = {0};
    char why[SAMPLER_WHY_MAX];
    struct sampler *s = NULL;
    bool enough = false;

    if (sampler_open(&options, &s, why) == ST_OK && sampler_start(s, NS_PER_MS) == ST_OK)
        for (int i = 0; i < WAIT_STEPS && !enough; i++) {
            nanosleep(&step, NULL);
            sampler_drain(s, on_sample, seen);
            enough = seen->samples >= SAMPLES && (!want_invisible || seen->invisible > 0);
        }
    sampler_close(s);
    return enough;
}

/* As process 1 of a namespace, with a burner that is its process 2 and one that is outside. */
static bool sample_from_inside(void)
{
    pid_t burner = start_burner();
    struct seen seen = {.pid = (uint32_t)burner};
    bool good = getpid() == 1 && burner == 2 && sample_host(&seen, true);

    end_burner(burner);
    return good && seen.of_other_threads == 0;
}

static void ids_are_those_of_the_agents_namespace_and_zero_outside(void **state)
{
    pid_t outside = start_burner(), agent;
    int status = -1;

    (void)state;
    agent = fork();
    if (agent == 0) {
        pid_t inside;

        if (unshare(CLONE_NEWPID) != 0)
            _exit(1);
        inside = fork();
        if (inside == 0)
            _exit(sample_from_inside() ? 0 : 1);
        _exit(waitpid(inside, &status, 0) == inside && status == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(agent, &status, 0), agent);
    assert_int_equal(status, 0);
    end_burner(outside);
}

/* The rest of the first line of a file that has `key` in it; NULL: none. */
static const char *line_with(const char *path, const char *key, char line[LINE_MAX_BYTES])
{
    FILE *f = fopen(path, "re");
    const char *found = NULL;

    while (f != NULL && found == NULL && fgets(line, LINE_MAX_BYTES, f) != NULL)
        found = strstr(line, key);
    if (f != NULL)
        fclose(f);
    return found == NULL ? NULL : found + strlen(key);
}

/* The inode of this process's directory in the v1 memory hierarchy; 0: there is none here. Skips
 * where the hierarchy is not mounted in its usual place. */
static uint64_t own_cgroup_v1(void)
{
    char line[LINE_MAX_BYTES], path[LINE_MAX_BYTES];
    const char *in_hierarchy = line_with("/proc/self/cgroup", ":memory:", line);
    struct stat directory;

    if (in_hierarchy == NULL)
        return 0;
    (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%.*s",
                   (int)strcspn(in_hierarchy, "\n"), in_hierarchy);
    if (stat(path, &directory) != 0)
        skip();
    return directory.st_ino;
}

static void samples_carry_the_v1_memory_cgroup_where_there_is_one(void **state)
{
    pid_t burner = start_burner();
    struct seen seen = {.pid = (uint32_t)burner};

    (void)state;
    assert_true(sample_host(&seen, false));
    end_burner(burner);
    print_message("v1 memory cgroup: %llu\n", (unsigned long long)seen.cgroup_v1);
    assert_int_equal(seen.cgroup_v1, own_cgroup_v1());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_those_of_the_agents_namespace_and_zero_outside),
        cmocka_unit_test(samples_carry_the_v1_memory_cgroup_where_there_is_one),
    };
    const struct sampler_options options = {0};
    char why[SAMPLER_WHY_MAX] = "needs root";
    struct sampler *s = NULL;

    if (geteuid() != 0 || sampler_open(&options, &s, why) != ST_OK) {
        (void)fprintf(stderr, "skipped: %s\n", why);
        return EXIT_SKIPPED;
    }
    sampler_close(s);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
