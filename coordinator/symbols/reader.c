#include "coordinator/symbols/reader.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/symbols/elf.h"
#include "common/symbols/extract.h"
#include "common/symtab.h"

enum {
    STEP_MS = 20, /* how often the process is looked after */
    FIRST_OTHER_FD = 3,
};

enum answer { /* the process's exit code */
              ANSWER_TABLE = 0,
              ANSWER_NO_NAMES = 3,
              ANSWER_WRONG_FILE = 4,
              ANSWER_FAILED = 5,
};

/* ---- the process ---- */

static void set_limit(int resource, uint64_t most)
{
    const struct rlimit limit = {most, most};

    (void)setrlimit(resource, &limit); /* lowering one's own limits is always allowed */
}

static void set_limits(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* which reserve terabytes */
    set_limit(RLIMIT_AS, READER_MEMORY_MAX);
#endif
    set_limit(RLIMIT_CPU, READER_CPU_S);
    set_limit(RLIMIT_FSIZE, SYMTAB_PACKED_MAX);
    set_limit(RLIMIT_CORE, 0);
}

static bool is_file_of(int fd, const char *text)
{
    struct build_id wanted, has;
    struct elf_file *f = NULL;
    bool is_it = build_id_parse(text, &wanted) == ST_OK && elf_file_open(fd, &f) == ST_OK &&
                 elf_gnu_build_id(f, &has) == ST_OK && build_id_equal(&wanted, &has);

    elf_file_close(f);
    return is_it;
}

static bool write_all(int fd, struct slice bytes)
{
    for (size_t done = 0; done < bytes.length;) {
        ssize_t n = write(fd, bytes.bytes + done, bytes.length - done);

        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

int reader_main(const char *build_id)
{
    const struct extract_options options = {.places = true};
    struct symtab table = {0};
    struct blob packed = {0};
    enum answer answer = ANSWER_FAILED;
    enum status st;

    set_limits();
    if (!is_file_of(STDIN_FILENO, build_id))
        return ANSWER_WRONG_FILE;
    st = extract_symbols(STDIN_FILENO, &options, &table);
    if (st == ST_NOT_FOUND)
        return ANSWER_NO_NAMES;
    if (st == ST_OK)
        st = symtab_encode(&table, &packed);
    if (st == ST_OK && write_all(STDOUT_FILENO, blob_slice(&packed)))
        answer = ANSWER_TABLE;
    blob_deinit(&packed);
    symtab_deinit(&table);
    return answer;
}

/* ---- the daemon ---- */

/* The daemon ignores SIGPIPE, and its threads may block others: neither is passed on. */
static bool set_signals(posix_spawnattr_t *how)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    return posix_spawnattr_setsigmask(how, &none) == 0 &&
           posix_spawnattr_setsigdefault(how, &all) == 0 &&
           posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) == 0;
}

static bool start(int in, int out, const struct build_id *id, pid_t *pid)
{
    char option[] = READER_OPTION, name[] = "fleetprofd", text[BUILD_ID_TEXT_MAX];
    char *arguments[] = {name, option, text, NULL}, *environment[] = {NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    bool started = false;

    build_id_format(id, text);
    if (posix_spawn_file_actions_init(&files) != 0)
        return false;
    if (posix_spawnattr_init(&how) == 0) {
        started = set_signals(&how) &&
                  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO) == 0 &&
                  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO) == 0 &&
                  posix_spawn_file_actions_addclosefrom_np(&files, FIRST_OTHER_FD) == 0 &&
                  posix_spawn(pid, "/proc/self/exe", &files, &how, arguments, environment) == 0;
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return started;
}

static enum status await(pid_t pid, const atomic_bool *stop)
{
    int status = 0;

    for (unsigned waited_ms = 0; waitpid(pid, &status, WNOHANG) == 0; waited_ms += STEP_MS) {
        bool stopped = atomic_load(stop);

        if (stopped || waited_ms >= READER_TOTAL_S * 1000) {
            kill(pid, SIGKILL);
            waitpid(pid, &status, 0);
            return stopped ? ST_CLOSED : ST_TOO_BIG;
        }
        poll(NULL, 0, STEP_MS);
    }
    if (!WIFEXITED(status))
        return ST_TOO_BIG;
    switch (WEXITSTATUS(status)) {
    case ANSWER_TABLE:
        return ST_OK;
    case ANSWER_NO_NAMES:
        return ST_NOT_FOUND;
    case ANSWER_WRONG_FILE:
        return ST_INVALID;
    default:
        return ST_TOO_BIG;
    }
}

/* Of what the process wrote nothing is believed but its length; the store checks the table. */
static enum status take(int fd, struct blob *out)
{
    struct stat s;
    uint8_t *bytes;

    if (fstat(fd, &s) != 0 || s.st_size <= 0 || s.st_size > SYMTAB_PACKED_MAX)
        return ST_INVALID;
    bytes = malloc((size_t)s.st_size);
    if (bytes == NULL)
        return ST_NOMEM;
    if (pread(fd, bytes, (size_t)s.st_size, 0) != s.st_size) {
        free(bytes);
        return ST_IO;
    }
    *out = (struct blob){bytes, (size_t)s.st_size};
    return ST_OK;
}

enum status reader_run(int fd, const struct build_id *id, const atomic_bool *stop, struct blob *out)
{
    int table = memfd_create("symbols", MFD_CLOEXEC);
    enum status st;
    pid_t pid;

    if (table < 0)
        return ST_IO;
    st = lseek(fd, 0, SEEK_SET) == 0 && start(fd, table, id, &pid) ? await(pid, stop) : ST_IO;
    if (st == ST_OK)
        st = take(table, out);
    close(table);
    return st;
}
