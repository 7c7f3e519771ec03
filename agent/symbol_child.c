#include "agent/symbol_child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/symbol_reader.h"
#include "common/symtab.h"

#define OWN_PROGRAM "/proc/self/exe" /* the very same, even when a newer one has been installed */

struct symbol_child {
    int input;
    enum symbol_input kind;
    pthread_mutex_t lock; /* of what follows */
    pid_t running; /* not reaped, so that the id is no other process's; 0: none */
    bool killed;
};

enum status symbol_child_new(int input, enum symbol_input kind, struct symbol_child **out)
{
    struct symbol_child *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return ST_NOMEM;
    c->input = input;
    c->kind = kind;
    (void)pthread_mutex_init(&c->lock, NULL); /* cannot fail without attributes */
    *out = c;
    return ST_OK;
}

void symbol_child_free(struct symbol_child *c)
{
    if (c == NULL)
        return;
    (void)pthread_mutex_destroy(&c->lock);
    close(c->input);
    free(c);
}

void symbol_child_kill(struct symbol_child *c)
{
    (void)pthread_mutex_lock(&c->lock);
    c->killed = true;
    if (c->running > 0)
        (void)kill(c->running, SIGKILL);
    (void)pthread_mutex_unlock(&c->lock);
}

/* ---- start and end ---- */

/* The reader gets what it needs: no environment, and of the agent's descriptors, which all close on
 * exec, the two and the standard ones. They are first moved out of each other's way: input may be
 * what output is to become. */
static int spawn(int input, int output, enum symbol_reading what, pid_t *out)
{
    char *arguments[] = {"fleetprof-agent", SYMBOL_READER_OPTION, (char *)symbol_reading_text(what),
                         NULL};
    char *environment[] = {NULL};
    posix_spawn_file_actions_t files;
    int high_input = fcntl(input, F_DUPFD_CLOEXEC, SYMBOL_READER_OUTPUT + 1);
    int high_output = fcntl(output, F_DUPFD_CLOEXEC, SYMBOL_READER_OUTPUT + 1);
    int error = high_input < 0 || high_output < 0 ? errno : posix_spawn_file_actions_init(&files);

    if (error != 0)
        goto out;
    error = posix_spawn_file_actions_adddup2(&files, high_input, SYMBOL_READER_INPUT);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&files, high_output, SYMBOL_READER_OUTPUT);
    if (error == 0)
        error = posix_spawn(out, OWN_PROGRAM, &files, NULL, arguments, environment);
    (void)posix_spawn_file_actions_destroy(&files);
out:
    if (high_input >= 0)
        close(high_input);
    if (high_output >= 0)
        close(high_output);
    return error;
}

static enum status start(struct symbol_child *c, int output, enum symbol_reading what)
{
    enum status st = ST_CLOSED;

    (void)pthread_mutex_lock(&c->lock);
    if (!c->killed)
        st = status_from_errno(spawn(c->input, output, what, &c->running));
    if (st != ST_OK)
        c->running = 0;
    (void)pthread_mutex_unlock(&c->lock);
    return st;
}

/* Waits without the lock and without reaping, and reaps with it: see `running`. */
static enum status wait_for_end(struct symbol_child *c, int *out_status)
{
    siginfo_t info;
    enum status st = ST_OK;
    int rc;

    do
        rc = waitid(P_PID, (id_t)c->running, &info, WEXITED | WNOWAIT);
    while (rc != 0 && errno == EINTR);
    (void)pthread_mutex_lock(&c->lock);
    if (rc != 0 || waitpid(c->running, out_status, 0) != c->running)
        st = ST_IO;
    else if (c->killed)
        st = ST_CLOSED;
    c->running = 0;
    (void)pthread_mutex_unlock(&c->lock);
    return st;
}

/* ---- judgement ---- */

static const char *say_signal(int number)
{
    switch (number) {
    case SIGXCPU:
        return " (over its limit of CPU time)";
    case SIGALRM:
        return " (over its limit of time)";
    case SIGKILL:
        return " (no memory left, or killed by hand)";
    default:
        return "";
    }
}

static enum status judge(int status, enum symbol_reading what, char why[SYMBOL_WHY_MAX])
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) - SYMBOL_READER_EXIT : -1;

    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return ST_OK;
    if (WIFSIGNALED(status))
        (void)snprintf(why, SYMBOL_WHY_MAX, "the reader of %s died of signal %d%s",
                       symbol_reading_text(what), WTERMSIG(status), say_signal(WTERMSIG(status)));
    else if (code <= ST_OK || code > ST_IO)
        (void)snprintf(why, SYMBOL_WHY_MAX, "the reader of %s ended with status %d",
                       symbol_reading_text(what), WEXITSTATUS(status));
    else
        return (enum status)code;
    return ST_INVALID;
}

/* What a reader leaves may be anything, but no more than a table: whoever decodes it checks it. */
static enum status check_output(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return status_from_errno(errno);
    return st.st_size == 0 ? ST_INVALID : st.st_size > SYMTAB_PACKED_MAX ? ST_TOO_BIG : ST_OK;
}

static enum status attempt(struct symbol_child *c, enum symbol_reading what, int *out_fd,
                           char why[SYMBOL_WHY_MAX])
{
    int output = memfd_create("symbols", MFD_CLOEXEC), status = 0;
    enum status st;

    if (output < 0)
        return status_from_errno(errno);
    st = start(c, output, what);
    if (st == ST_OK)
        st = wait_for_end(c, &status);
    if (st == ST_OK)
        st = judge(status, what, why);
    if (st == ST_OK)
        st = check_output(output);
    if (st == ST_OK)
        *out_fd = output;
    else
        close(output);
    return st;
}

enum status symbol_child_run(struct symbol_child *c, int *out_fd, char why[SYMBOL_WHY_MAX])
{
    enum status st;

    why[0] = '\0';
    if (c->kind == SYMBOL_INPUT_KALLSYMS)
        return attempt(c, SYMBOL_READING_KERNEL, out_fd, why);
    st = attempt(c, SYMBOL_READING_PLACES, out_fd, why);
    if (why[0] == '\0' && st != ST_NOMEM && st != ST_TOO_BIG)
        return st;
    return attempt(c, SYMBOL_READING_NAMES, out_fd, why);
}
