#include "agent/process/jit.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/proc_file.h"
#include "agent/process/procfs.h"
#include "agent/symbols/perfmap.h"

/* Between two looks at a map: short while it grows, doubling while it does not. */
#define PAUSE_MIN_NS (100 * NS_PER_MS)
#define PAUSE_MAX_NS (10 * NS_PER_S)
#define PAUSE_MISSED_NS (1 * NS_PER_S) /* an address had no name */
/* Times of files are those of the last clock tick, and a process's start is rounded as well. */
#define TIME_SLACK_NS (100 * NS_PER_MS)

enum {
    TAIL_BYTES = 32, /* what was read last: is it still there, or was the file written anew? */
    STATUS_BYTES_MAX = 16 << 10, /* some 60 lines; the longest list the groups */
    PATH_BYTES = 64,
};

struct jit {
    struct jit_pool *pool;
    uint32_t pid; /* in our namespace */
    uint64_t start_ns; /* of the process, since boot */
    uint32_t elder;
    struct procfs_status status; /* ns_pid 0: not read yet */
    struct perfmap *map;
    struct mono looked, next;
    uint64_t pause_ns;
    dev_t device; /* of the file that was read up to `offset` */
    ino_t inode;
    uint64_t offset;
    uint8_t tail[TAIL_BYTES];
    size_t tail_length;
};

/* ---- the file ---- */

static bool read_status(struct jit *j)
{
    uint8_t bytes[STATUS_BYTES_MAX];
    struct slice text;

    return proc_file_read(j->pid, "status", bytes, sizeof(bytes), &text) == ST_OK &&
           procfs_parse_status(text, &j->status);
}

/* A link in the process's root leads nowhere outside of it; the map itself may be none. Nothing is
 * opened in earnest: that could do things, if it is a device or a pipe. */
static int find_in_root(int root, const char *path)
{
    const struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
    };

    return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static uint64_t ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* A map that an earlier process of that pid left behind is older than this one. */
static bool is_left_over(const struct jit *j, const struct stat *file)
{
    struct timespec boot;

    clock_gettime(CLOCK_BOOTTIME, &boot);
    return ns_of(file->st_mtim) + TIME_SLACK_NS < clock_wall().ns - (ns_of(boot) - j->start_ns);
}

static bool is_trusted(const struct jit *j, uint32_t ns_pid, const struct stat *file)
{
    return S_ISREG(file->st_mode) && (file->st_uid == j->status.uid || file->st_uid == 0) &&
           (ns_pid == j->elder || !is_left_over(j, file));
}

static int open_map_of(const struct jit *j, int root, uint32_t ns_pid, struct stat *file)
{
    char path[PATH_BYTES];
    int place, fd = -1;

    (void)snprintf(path, sizeof(path), "tmp/perf-%u.map", ns_pid);
    place = find_in_root(root, path);
    if (place < 0)
        return -1;
    if (fstat(place, file) == 0 && is_trusted(j, ns_pid, file)) {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    close(place);
    return fd;
}

/* Its own, or while it has none the one that came with its code. */
static int open_map(struct jit *j, struct stat *file)
{
    char path[PATH_BYTES];
    int root, fd = -1;

    if (!read_status(j))
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%u/root", j->pid);
    root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return -1;
    fd = open_map_of(j, root, j->status.ns_pid, file);
    if (fd < 0 && j->elder != 0)
        fd = open_map_of(j, root, j->elder, file);
    close(root);
    return fd;
}

/* ---- what was added ---- */

static bool continues(const struct jit *j, int fd, const struct stat *file)
{
    uint8_t tail[TAIL_BYTES];

    if (file->st_dev != j->device || file->st_ino != j->inode ||
        (uint64_t)file->st_size < j->offset)
        return false;
    return pread(fd, tail, j->tail_length, (off_t)(j->offset - j->tail_length)) ==
               (ssize_t)j->tail_length &&
           memcmp(tail, j->tail, j->tail_length) == 0;
}

/* Old names stay until new ones take their addresses: some of their code still runs. */
static void begin(struct jit *j, const struct stat *file)
{
    uint64_t size = (uint64_t)file->st_size;

    j->device = file->st_dev;
    j->inode = file->st_ino;
    j->offset = size > JIT_FILE_MAX ? size - JIT_FILE_MAX : 0;
    j->tail_length = 0;
}

/* Reading began in the middle of a line. */
static size_t partial_line(const struct jit *j, struct slice text)
{
    const uint8_t *newline;

    if (j->tail_length > 0 || j->offset == 0)
        return 0;
    newline = memchr(text.bytes, '\n', text.length);
    return newline != NULL ? (size_t)(newline - text.bytes) + 1 : text.length;
}

static void advance(struct jit *j, struct slice read)
{
    size_t kept = read.length < TAIL_BYTES ? read.length : TAIL_BYTES;

    memcpy(j->tail, read.bytes + read.length - kept, kept);
    j->tail_length = kept;
    j->offset += read.length;
}

static bool take(struct jit *j, struct slice text)
{
    size_t skipped = partial_line(j, text);
    const struct slice lines = {text.bytes + skipped, text.length - skipped};
    uint64_t before = perfmap_bytes(j->map);
    size_t used = skipped + perfmap_add(j->map, lines);

    j->pool->bytes += perfmap_bytes(j->map) - before;
    if (used == 0 && text.length == JIT_READ_MAX)
        used = text.length; /* a line without an end */
    if (used > 0)
        advance(j, (struct slice){text.bytes, used});
    return used > 0;
}

static bool read_added(struct jit *j, int fd)
{
    uint8_t *bytes = malloc(JIT_READ_MAX);
    bool news = false;
    ssize_t got;

    if (bytes == NULL)
        return false;
    got = pread(fd, bytes, JIT_READ_MAX, (off_t)j->offset);
    if (got > 0) {
        j->pool->readable -= (size_t)got;
        news = take(j, (struct slice){bytes, (size_t)got});
    }
    free(bytes);
    return news;
}

static void refill(struct jit_pool *p, struct mono now)
{
    uint64_t ns = mono_since(now, p->paced);

    p->readable = ns >= NS_PER_S ? JIT_READ_PER_S : p->readable + ns * JIT_READ_PER_S / NS_PER_S;
    if (p->readable > JIT_READ_PER_S)
        p->readable = JIT_READ_PER_S;
    p->paced = now;
}

static bool look(struct jit *j)
{
    struct stat file;
    int fd = open_map(j, &file);
    bool news = false;

    if (fd < 0)
        return false;
    if (!continues(j, fd, &file))
        begin(j, &file);
    if ((uint64_t)file.st_size > j->offset)
        news = read_added(j, fd);
    close(fd);
    return news;
}

bool jit_follow(struct jit *j, struct mono now)
{
    bool news;

    if (!mono_reached(now, j->next))
        return false;
    refill(j->pool, now);
    if (j->pool->readable < JIT_READ_MAX)
        return false; /* others were read just now */
    news = look(j);
    j->pause_ns = news ? PAUSE_MIN_NS : 2 * j->pause_ns;
    if (j->pause_ns > PAUSE_MAX_NS)
        j->pause_ns = PAUSE_MAX_NS;
    j->looked = now;
    j->next = mono_after(now, j->pause_ns);
    return news;
}

/* ---- questions ---- */

const char *jit_find(struct jit *j, uint64_t address)
{
    const char *name = perfmap_find(j->map, address);
    struct mono soon = mono_after(j->looked, PAUSE_MISSED_NS);

    if (name == NULL && j->offset > 0 && soon.ns < j->next.ns)
        j->next = soon;
    return name;
}

bool jit_has_trampolines(const struct jit *j, uint64_t start, uint64_t end)
{
    return perfmap_has_trampolines(j->map, start, end);
}

uint32_t jit_elder(const struct jit *j)
{
    if (j->offset == 0)
        return 0;
    return j->elder != 0 ? j->elder : j->status.ns_pid;
}

enum status jit_new(struct jit_pool *pool, uint32_t pid, uint64_t start_ns, uint32_t elder,
                    struct jit **out)
{
    struct jit *j = calloc(1, sizeof(*j));
    enum status st = ST_NOMEM;

    if (j == NULL)
        goto out;
    j->pool = pool;
    j->pid = pid;
    j->start_ns = start_ns;
    j->elder = elder;
    j->pause_ns = PAUSE_MIN_NS;
    st = perfmap_new(&j->map);
    if (st != ST_OK)
        goto out;
    pool->bytes += perfmap_bytes(j->map);
    *out = j;
    j = NULL;
out:
    jit_free(j);
    return st;
}

void jit_free(struct jit *j)
{
    if (j == NULL)
        return;
    if (j->map != NULL)
        j->pool->bytes -= perfmap_bytes(j->map);
    perfmap_free(j->map);
    free(j);
}
