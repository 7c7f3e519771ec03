/* What a context switch costs while waits are sampled: two processes pass a byte to and fro on one
 * CPU, without the program (the floor) and with it, in turns. CPU time of both, in medians. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/sampler/sampler.h"
#include "agent/sampler/wait_sampler.h"

#define PERIOD_NS (NS_PER_S / HZ_DEFAULT_OFFCPU)

enum { ROUNDS = 7, PASSES = 100000, SKIPPED = 77 };

static uint64_t samples;

static void count(void *arg, const struct sample *s)
{
    (void)arg;
    samples += UINT64_C(1) + s->repeats;
}

static void play(int from, int to, bool first)
{
    char byte = 0;

    for (int i = 0; i < PASSES; i++) {
        if ((first && write(to, &byte, 1) != 1) || read(from, &byte, 1) != 1 ||
            (!first && write(to, &byte, 1) != 1))
            _exit(1);
    }
    _exit(0);
}

static uint64_t cpu_ns(void)
{
    struct rusage r;

    getrusage(RUSAGE_CHILDREN, &r);
    return ((uint64_t)r.ru_utime.tv_sec + (uint64_t)r.ru_stime.tv_sec) * NS_PER_S +
           ((uint64_t)r.ru_utime.tv_usec + (uint64_t)r.ru_stime.tv_usec) * 1000;
}

/* ns of CPU time for each switch, or 0 when the players failed. */
static double ping_pong(void)
{
    uint64_t before = cpu_ns();
    int to[2], fro[2], failed = 0, status;

    if (pipe(to) != 0 || pipe(fro) != 0)
        return 0;
    for (int player = 0; player < 2; player++)
        if (fork() == 0)
            play(player == 0 ? fro[0] : to[0], player == 0 ? to[1] : fro[1], player == 0);
    for (int player = 0; player < 2; player++)
        failed |= wait(&status) < 0 || status != 0;
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(fro[i]);
    }
    return failed ? 0 : (double)(cpu_ns() - before) / (2.0 * PASSES);
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double median(double values[ROUNDS])
{
    qsort(values, ROUNDS, sizeof(values[0]), by_value);
    return values[ROUNDS / 2];
}

static double with_program(struct wait_sampler *w)
{
    char why[SAMPLER_WHY_MAX] = "";
    double ns;

    if (wait_sampler_start(w, PERIOD_NS, why) != ST_OK) {
        printf("SKIPPED: %s\n", why);
        exit(SKIPPED);
    }
    ns = ping_pong();
    wait_sampler_stop(w, clock_mono(), count, NULL);
    return ns;
}

int main(void)
{
    const struct sampler_options options = {0};
    double floor[ROUNDS], ours[ROUNDS];
    struct wait_sampler_counters c;
    char why[SAMPLER_WHY_MAX] = "";
    struct wait_sampler *w = NULL;
    struct sampler *s = NULL;
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET(0, &one);
    (void)sched_setaffinity(0, sizeof(one), &one);
    if (sampler_open(&options, &s, why) != ST_OK || wait_sampler_new(NULL, s, &w) != ST_OK) {
        printf("SKIPPED: %s\n", why);
        return SKIPPED;
    }
    for (int i = 0; i < ROUNDS; i++) {
        floor[i] = ping_pong();
        ours[i] = with_program(w);
    }
    wait_sampler_read_counters(w, &c);
    printf("context switch, pipe ping-pong, CPU time: floor %.0f ns, with waits sampled %.0f ns\n",
           median(floor), median(ours));
    printf("%llu samples, %llu lost; %.1f MiB of maps\n", (unsigned long long)samples,
           (unsigned long long)(c.lost_ring + c.lost_table), (double)c.map_bytes / (1 << 20));
    wait_sampler_free(w);
    sampler_close(s);
    return floor[0] > 0 && ours[0] > 0 ? 0 : 1;
}
