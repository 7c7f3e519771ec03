#include "agent/symbol_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/symbols/kernel.h"
#include "common/symbols/debug_file.h"
#include "common/symbols/extract.h"

enum {
    NOBODY = 65534, /* owns nothing, on every distribution */
    NICENESS = 10,
    FILES_MAX = 32, /* binary, debug file, dwz file, and what the C library opens */
};

/* Half of the memory that the agent's unit has; libc.so.6 takes 48 MiB and 0.2 s. */
const struct symbol_reader_limits symbol_reader_limits = {
    .memory_bytes = UINT64_C(256) << 20, .cpu_seconds = 60, .wall_seconds = 300};

const char *symbol_reading_text(enum symbol_reading what)
{
    switch (what) {
#define X(name, text)           \
    case SYMBOL_READING_##name: \
        return text;
        SYMBOL_READING_LIST(X)
#undef X
    }
    return "";
}

/* ---- confinement ---- */

static bool limit(__rlimit_resource_t resource, uint64_t soft, uint64_t hard)
{
    const struct rlimit l = {.rlim_cur = soft, .rlim_max = hard};

    return setrlimit(resource, &l) == 0;
}

static bool limit_memory(uint64_t bytes)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)bytes; /* sanitizers map terabytes that they never touch */
    return true;
#else
    return limit(RLIMIT_DATA, bytes, bytes);
#endif
}

static bool set_limits(const struct symbol_reader_limits *l)
{
    (void)alarm(l->wall_seconds); /* SIGALRM ends a reader that waits for a slow file system */
    return limit_memory(l->memory_bytes) &&
           limit(RLIMIT_CPU, l->cpu_seconds, l->cpu_seconds + 1) && /* SIGXCPU, then SIGKILL */
           limit(RLIMIT_FSIZE, SYMTAB_PACKED_MAX, SYMTAB_PACKED_MAX) &&
           limit(RLIMIT_NOFILE, FILES_MAX, FILES_MAX) && limit(RLIMIT_NPROC, 0, 0) &&
           limit(RLIMIT_CORE, 0, 0);
}

/* When memory runs short, the reader goes and not the agent. */
static void volunteer_to_be_killed(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, "1000", 4); /* else: the kernel chooses by size */
    close(fd);
}

/* Root without capabilities still owns root's files. Where a user namespace has no such user, as in
 * some containers, the reader stays who it is: it is root of little there. */
static void become_nobody(void)
{
    if (geteuid() != 0)
        return;
    (void)setgroups(0, NULL);
    (void)setresgid(NOBODY, NOBODY, NOBODY);
    (void)setresuid(NOBODY, NOBODY, NOBODY);
}

static bool drop_capabilities(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); /* capset does it as well */
    return syscall(SYS_capset, &header, none) == 0;
}

enum status symbol_reader_confine(const struct symbol_reader_limits *limits)
{
    (void)syscall(SYS_close_range, SYMBOL_READER_OUTPUT + 1, ~0U, 0); /* Linux 5.9; none is left */
    (void)setpriority(PRIO_PROCESS, 0, NICENESS);
    volunteer_to_be_killed();
    become_nobody();
    if (!drop_capabilities() || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !set_limits(limits))
        return ST_DENIED;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* after the change of user, which clears it */
    return ST_OK;
}

/* ---- reading ---- */

static enum status read_table(const char *what, struct symtab *out)
{
    const struct extract_options options = {
        DEBUG_FILE_ROOT, .places = strcmp(what, symbol_reading_text(SYMBOL_READING_PLACES)) == 0};

    if (strcmp(what, symbol_reading_text(SYMBOL_READING_KERNEL)) == 0)
        return kernel_symtab(SYMBOL_READER_INPUT, out);
    return extract_symbols(SYMBOL_READER_INPUT, &options, out);
}

static enum status write_all(struct slice bytes)
{
    while (bytes.length > 0) {
        ssize_t n = write(SYMBOL_READER_OUTPUT, bytes.bytes, bytes.length);

        if (n < 0)
            return status_from_errno(errno);
        bytes = (struct slice){bytes.bytes + n, bytes.length - (size_t)n};
    }
    return ST_OK;
}

static enum status read_and_pack(const char *what)
{
    struct symtab table = {0};
    struct blob packed = {0};
    enum status st = read_table(what, &table);

    /* A kernel that hides its addresses. Stored, an empty table would keep the names of a host that
     * has them out for good. */
    if (st == ST_OK && table.count == 0)
        st = ST_NOT_FOUND;
    if (st == ST_OK)
        st = symtab_encode(&table, &packed);
    if (st == ST_OK)
        st = write_all(blob_slice(&packed));
    blob_deinit(&packed);
    symtab_deinit(&table);
    return st;
}

_Noreturn void symbol_reader_main(const char *what)
{
    enum status st = symbol_reader_confine(&symbol_reader_limits);

    if (st == ST_OK)
        st = read_and_pack(what);
    _exit(st == ST_OK ? 0 : SYMBOL_READER_EXIT + (int)st); /* nothing is buffered */
}
