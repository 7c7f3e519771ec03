/* probe - loads and runs the agent's source of samples on whatever kernel this is, and says how it
 * saw a program whose stack is known.
 *
 *   probe PROGRAM [ARGUMENT...]
 *
 * Prints one line "probe {...}" and exits 0 when samples of the program came. The program is
 * started twice: before the sampling begins and after, so that it is found by either way. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/host_source.h"
#include "agent/sampler/sampler.h"
#include "common/walks.h"

enum { SAMPLES_WANTED = 200, PERIOD_MS = 10, STEP_MS = 100 };
#define PATIENCE_NS (40 * NS_PER_S) /* emulated machines are slow */

struct seen {
    uint32_t pids[2];
    uint64_t samples; /* of these processes */
    uint64_t frames; /* of the deepest */
    struct walks walks;
};

static void on_sample(void *arg, const struct resolved_sample *s)
{
    struct seen *seen = arg;

    if (s->pid != seen->pids[0] && s->pid != seen->pids[1])
        return;
    seen->samples++;
    seen->walks.count[s->end]++;
    if (s->frame_count > seen->frames)
        seen->frames = s->frame_count;
}

static pid_t start_program(char **command)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)execv(command[0], command);
        _exit(127);
    }
    return pid;
}

static const char *variant_name(enum sampler_walk walk)
{
    switch (walk) {
    case SAMPLER_WALK_FAST:
        return "fast";
    case SAMPLER_WALK_COMPAT:
        return "compat";
    case SAMPLER_WALK_PLAIN:
        return "plain";
    }
    return "unknown";
}

/* Loads the program once more than needed, to hear which variant the kernel takes. */
static bool print_variant(void)
{
    const struct sampler_options options = {0};
    char why[SAMPLER_WHY_MAX] = "";
    struct sampler *s = NULL;

    if (sampler_open(&options, &s, why) != ST_OK) {
        printf("\"refused\": \"%s\"}\n", why);
        return false;
    }
    printf("\"variant\": \"%s\", ", variant_name(sampler_walk(s)));
    sampler_close(s);
    return true;
}

static void collect(struct source *source, struct seen *seen)
{
    const struct timespec step = {.tv_nsec = STEP_MS * (long)NS_PER_MS};
    struct mono end = mono_after(clock_mono(), PATIENCE_NS);

    while (seen->samples < SAMPLES_WANTED && !mono_reached(clock_mono(), end)) {
        nanosleep(&step, NULL);
        (void)source->operations->drain(source, clock_mono(), on_sample, seen);
    }
}

static void print_seen(struct source *source, const struct seen *seen)
{
    struct sample_counters counters = {0};
    struct agent_cost cost = {0};
    uint64_t lost = 0;

    source->operations->read_counters(source, EVENT_CPU, &counters);
    source->operations->read_cost(source, &cost);
    for (unsigned i = 0; i < LOSS_KINDS; i++)
        lost += counters.lost[i];
    printf("\"samples\": %" PRIu64 ", \"frames\": %" PRIu64 ", \"lost\": %" PRIu64
           ", \"cpus\": %" PRIu32 ", \"map_bytes\": %" PRIu64 ", \"walks\": {",
           seen->samples, seen->frames, lost, counters.cpus, cost.kernel_map_bytes);
    for (unsigned i = 0; i < WALK_ENDS; i++)
        printf("%s\"%s\": %" PRIu64, i > 0 ? ", " : "", walk_name((enum walk_end)i),
               seen->walks.count[i]);
    printf("}, \"degraded\": \"%s\"}\n", source->operations->degraded(source));
}

static bool probe(char **command)
{
    const struct host_source_options options = {0};
    struct source *source = NULL;
    struct seen seen = {0};
    char why[SOURCE_WHY_MAX] = "";
    enum status st = host_source_open(&options, &source, why);
    pid_t before = start_program(command), after = -1;

    seen.pids[0] = (uint32_t)before;
    if (st == ST_OK)
        st = source->operations->start(source, EVENT_CPU, PERIOD_MS * NS_PER_MS, why);
    if (st == ST_OK) {
        after = start_program(command);
        seen.pids[1] = (uint32_t)after;
        collect(source, &seen);
        print_seen(source, &seen);
        source->operations->stop(source, EVENT_CPU, clock_mono(), on_sample, &seen);
    } else {
        printf("\"refused\": \"%s\"}\n", why);
    }
    if (before > 0)
        (void)kill(before, SIGKILL);
    if (after > 0)
        (void)kill(after, SIGKILL);
    if (source != NULL)
        source->operations->close(source);
    return st == ST_OK && seen.samples > 0;
}

int main(int argc, char **argv)
{
    struct utsname name;
    bool fine;

    if (argc < 2) {
        (void)fputs("usage: probe PROGRAM [ARGUMENT...]\n", stderr);
        return 2;
    }
    (void)uname(&name); /* fails only for a bad address */
    printf("\nprobe {\"kernel\": \"%s\", ", name.release);
    fine = print_variant() && probe(argv + 1);
    (void)fflush(stdout);
    return fine ? 0 : 1;
}
