/* storm - storm SECONDS processes|threads: one after the other, each lives for 20 ms of CPU time.
 *
 * A process is this program executed anew, as a command of a shell script would be. */
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/workloads/zoo/animal.h"

#define LIFE_NS 20000000u

extern char **environ;

static const char *program;

static uint64_t cpu_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static NOINLINE void leaf(void)
{
    animal_spin();
}

static NOINLINE void live_briefly(void)
{
    uint64_t end = cpu_ns() + LIFE_NS;

    while (cpu_ns() < end)
        leaf();
    animal_sink++;
}

static void *thread(void *argument)
{
    live_briefly();
    return argument;
}

static void start_thread_and_wait(void)
{
    pthread_t t;

    if (pthread_create(&t, NULL, thread, NULL) == 0)
        (void)pthread_join(t, NULL);
}

static void start_process_and_wait(void)
{
    char *arguments[] = {(char *)program, "child", NULL};
    pid_t pid;
    int status;

    if (posix_spawn(&pid, program, NULL, NULL, arguments, environ) == 0)
        (void)waitpid(pid, &status, 0);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 2 && strcmp(argv[1], "child") == 0) {
        live_briefly();
        return 0;
    }
    if (argc == 3 && strcmp(argv[2], "processes") == 0)
        return animal_live(argv[1], start_process_and_wait);
    if (argc == 3 && strcmp(argv[2], "threads") == 0)
        return animal_live(argv[1], start_thread_and_wait);
    fprintf(stderr, "usage: storm SECONDS processes|threads\n");
    return 2;
}
