/* burn - functions that take a known share of a core.
 *
 *   burn SECONDS alpha=60 beta=30 delta=10 [recurse=5:40]
 *
 * Each percentage is of one core; what is left of 100 is slept. `recurse=P:D` spends P percent in a
 * function that calls itself D deep. The work of a round comes in random order and random rounds of
 * 5 to 15 ms, so that no sampling clock keeps step with it. At the end (or on SIGTERM) it prints
 * what each function really took by CLOCK_THREAD_CPUTIME_ID, as JSON. */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SPIN_STEPS = 20000, DEPTH_MAX = 100 }; /* some 20 us: reading the clock stays below 2 % */

static volatile uint64_t sink;
static volatile sig_atomic_t stopped, asked;
static uint64_t seed = 88172645463325252u;

static void on_signal(int number)
{
    if (number == SIGUSR1)
        asked = 1;
    else
        stopped = 1;
}

static uint64_t next_random(void) /* xorshift */
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* One function per name, each with its own loop, so that the time is its own. */
#define WORKER(name)                                \
    static void name(int depth)                     \
    {                                               \
        uint64_t x = sink + (uint64_t)depth;        \
                                                    \
        for (int i = 0; i < SPIN_STEPS; i++)        \
            x = x * 6364136223846793005u + 144269u; \
        sink = x;                                   \
    }
WORKER(alpha)
WORKER(beta)
WORKER(delta)
WORKER(omega)
#undef WORKER

static void recurse(int depth)
{
    uint64_t x = sink;

    if (depth > 1) {
        recurse(depth - 1);
        sink++; /* keeps the call from becoming a jump */
        return;
    }
    for (int i = 0; i < SPIN_STEPS; i++)
        x = x * 6364136223846793005u + 144269u;
    sink = x;
}

static struct job {
    const char *name;
    void (*run)(int depth);
    double percent;
    int depth;
    uint64_t burned_ns;
} jobs[] = {
    {"alpha", alpha, 0, 0, 0}, {"beta", beta, 0, 0, 0},       {"delta", delta, 0, 0, 0},
    {"omega", omega, 0, 0, 0}, {"recurse", recurse, 0, 1, 0},
};
enum { JOBS = sizeof(jobs) / sizeof(jobs[0]) };

static uint64_t now_ns(clockid_t clock)
{
    struct timespec t;

    (void)clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spend(struct job *job, uint64_t ns)
{
    uint64_t start = now_ns(CLOCK_THREAD_CPUTIME_ID), now = start;

    while (now - start < ns) {
        job->run(job->depth);
        now = now_ns(CLOCK_THREAD_CPUTIME_ID);
    }
    job->burned_ns += now - start;
}

static void shuffle(int order[JOBS])
{
    for (int i = JOBS - 1; i > 0; i--) {
        int j = (int)(next_random() % (uint64_t)(i + 1)), swap = order[i];

        order[i] = order[j];
        order[j] = swap;
    }
}

/* One round on an absolute schedule: what a busy machine delays is caught up with. */
static void run_round(uint64_t *due_ns)
{
    uint64_t round_ns = 5000000 + next_random() % 10000000;
    int order[JOBS];
    struct timespec until;

    for (int i = 0; i < JOBS; i++)
        order[i] = i;
    shuffle(order);
    for (int i = 0; i < JOBS; i++) {
        struct job *job = &jobs[order[i]];
        double jitter = 0.5 + (double)(next_random() % 1000) / 1000; /* mean 1 */

        if (job->percent > 0)
            spend(job, (uint64_t)((double)round_ns * job->percent / 100 * jitter));
    }
    *due_ns += round_ns;
    until.tv_sec = (time_t)(*due_ns / 1000000000u);
    until.tv_nsec = (long)(*due_ns % 1000000000u);
    (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static struct job *find_job(const char *text, size_t length)
{
    for (int i = 0; i < JOBS; i++)
        if (strlen(jobs[i].name) == length && strncmp(jobs[i].name, text, length) == 0)
            return &jobs[i];
    return NULL;
}

static int read_job(const char *text)
{
    const char *equals = strchr(text, '=');
    struct job *job = equals == NULL ? NULL : find_job(text, (size_t)(equals - text));
    char *end;

    if (job == NULL)
        return -1;
    job->percent = strtod(equals + 1, &end);
    if (*end == ':')
        job->depth = (int)strtol(end + 1, &end, 10);
    return *end == '\0' && job->percent >= 0 && job->depth <= DEPTH_MAX ? 0 : -1;
}

static void print_burned(uint64_t wall_ns)
{
    uint64_t total = 0;

    printf("{\"wall_s\": %.6f", (double)wall_ns / 1e9);
    for (int i = 0; i < JOBS; i++) {
        printf(", \"%s\": %.6f", jobs[i].name, (double)jobs[i].burned_ns / 1e9);
        total += jobs[i].burned_ns;
    }
    printf(", \"total\": %.6f}\n", (double)total / 1e9);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t start = now_ns(CLOCK_MONOTONIC), due = start;
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;

    for (int i = 2; i < argc; i++) {
        if (read_job(argv[i]) != 0) {
            fprintf(stderr,
                    "burn: '%s': want NAME=PERCENT[:DEPTH], NAME one of alpha, beta, "
                    "delta, omega, recurse\n",
                    argv[i]);
            return 2;
        }
    }
    if (seconds <= 0 || argc < 3) {
        fprintf(stderr, "usage: burn SECONDS NAME=PERCENT[:DEPTH]...\n");
        return 2;
    }
    (void)signal(SIGTERM, on_signal);
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGUSR1, on_signal);
    seed ^= (uint64_t)start;
    print_burned(0); /* from here on signals are answered */

    while (!stopped && (double)(now_ns(CLOCK_MONOTONIC) - start) < seconds * 1e9) {
        run_round(&due);
        if (asked) {
            asked = 0;
            print_burned(now_ns(CLOCK_MONOTONIC) - start);
        }
    }
    print_burned(now_ns(CLOCK_MONOTONIC) - start);
    return 0;
}
