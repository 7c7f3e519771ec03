/* children - processes that a test starts to look at. They end with it at the latest. */
#ifndef TESTS_UNIT_AGENT_CHILDREN_H
#define TESTS_UNIT_AGENT_CHILDREN_H

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static inline pid_t start_idle(void)
{
    pid_t child = fork();

    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    return child;
}

static inline void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static inline void copy_file(const char *from, const char *to)
{
    char bytes[4096];
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
    ssize_t got;

    assert_true(in >= 0 && out >= 0);
    while ((got = read(in, bytes, sizeof(bytes))) > 0)
        assert_int_equal(write(out, bytes, (size_t)got), got);
    close(in);
    close(out);
}

/* Runs the program at `path`, unheard, by arguments and environment of its own, and returns once it
 * is that program. */
static inline pid_t run_program(const char *path, char *const words[], char *const variables[])
{
    int ends[2];
    char byte;
    pid_t child;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0); /* closes when exec has happened */
    child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
        execve(path, words, variables);
        _exit(1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    return child;
}

static inline pid_t run_copy(const char *path) /* of /bin/sleep */
{
    static char name[] = "sleep", seconds[] = "1000";

    return run_program(path, (char *const[]){name, seconds, NULL}, environ);
}

#endif
