/* waiter - threads whose waits are known. Prints what each did, by its own clock, and ends.
 *
 *   waiter SECONDS
 *
 * sleeper: sleeps in three functions, 70, 20 and 10 % of its time
 * long_sleeper: one sleep of half of the time, among two threads that sleep 1 ms at a time
 * locked_out: waits for a mutex that another thread holds for half of the time
 * hog_a, hog_b: burn on one and the same CPU, so that each waits half of the time to run */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define WAITS __attribute__((noinline))

static uint64_t seconds;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static uint64_t sleep_ns(uint64_t ns)
{
    const struct timespec t = {(time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S)};
    uint64_t begin = now_ns();

    nanosleep(&t, NULL);
    return now_ns() - begin;
}

WAITS static uint64_t wait_much(void)
{
    return sleep_ns(14 * NS_PER_MS);
}

WAITS static uint64_t wait_some(void)
{
    return sleep_ns(4 * NS_PER_MS);
}

WAITS static uint64_t wait_little(void)
{
    return sleep_ns(2 * NS_PER_MS);
}

WAITS static uint64_t wait_long(void)
{
    return sleep_ns(seconds * NS_PER_S / 2);
}

WAITS static uint64_t wait_short(void)
{
    return sleep_ns(NS_PER_MS);
}

WAITS static uint64_t wait_locked_out(void)
{
    uint64_t begin = now_ns();

    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return now_ns() - begin;
}

static void say(const char *what, uint64_t ns)
{
    printf("%s %.3f\n", what, (double)ns / (double)NS_PER_S);
}

static void *sleeper(void *unused)
{
    uint64_t end = now_ns() + seconds * NS_PER_S, much = 0, some = 0, little = 0;

    (void)unused;
    prctl(PR_SET_NAME, "sleeper");
    while (now_ns() < end) {
        much += wait_much();
        some += wait_some();
        little += wait_little();
    }
    say("wait_much", much);
    say("wait_some", some);
    say("wait_little", little);
    return NULL;
}

static void *long_sleeper(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "long_sleeper");
    say("wait_long", wait_long());
    return NULL;
}

static void *short_sleeper(void *unused)
{
    uint64_t end = now_ns() + seconds * NS_PER_S, total = 0;

    (void)unused;
    prctl(PR_SET_NAME, "short_sleeper");
    while (now_ns() < end)
        total += wait_short();
    say("wait_short", total);
    return NULL;
}

static void *locked_out(void *unused)
{
    (void)unused;
    prctl(PR_SET_NAME, "locked_out");
    say("wait_locked_out", wait_locked_out());
    return NULL;
}

WAITS static void burn(uint64_t end)
{
    while (now_ns() < end)
        for (volatile unsigned i = 0; i < 10000; i++)
            ;
}

static void *hog(void *name)
{
    cpu_set_t first;
    uint64_t begin = now_ns();
    struct timespec cpu;

    prctl(PR_SET_NAME, name);
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    (void)sched_setaffinity(0, sizeof(first), &first);
    burn(begin + seconds * NS_PER_S);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    say(name, now_ns() - begin - ((uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_nsec));
    return NULL;
}

int main(int argc, char **argv)
{
    static char hog_a[] = "hog_a", hog_b[] = "hog_b";
    pthread_t threads[7];
    unsigned n = 0;

    seconds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    if (seconds < 2 || seconds > 600) {
        fprintf(stderr, "usage: waiter SECONDS, from 2 to 600\n");
        return 2;
    }
    pthread_mutex_lock(&lock);
    pthread_create(&threads[n++], NULL, sleeper, NULL);
    pthread_create(&threads[n++], NULL, long_sleeper, NULL);
    pthread_create(&threads[n++], NULL, short_sleeper, NULL);
    pthread_create(&threads[n++], NULL, short_sleeper, NULL);
    pthread_create(&threads[n++], NULL, locked_out, NULL);
    pthread_create(&threads[n++], NULL, hog, hog_a);
    pthread_create(&threads[n++], NULL, hog, hog_b);
    sleep_ns(seconds * NS_PER_S / 2);
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
