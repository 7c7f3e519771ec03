#include "agent/process/mapped_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/process/procfs.h"
#include "common/symbols/elf.h"

#define DELETED " (deleted)" /* what the kernel appends to the path of an unlinked file */
#define OVERLAY_MAGIC 0x794c7630 /* <linux/magic.h>: mappings show the inode of the layer below */

enum { PROC_PATH_MAX = PROCFS_PATH_MAX + 64 };

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_deleted(const char *path)
{
    size_t length = strlen(path), suffix = strlen(DELETED);

    return length > suffix && strcmp(path + length - suffix, DELETED) == 0;
}

bool mapped_file_is_anonymous(const struct mapped_file *f)
{
    static const char *const prefixes[] = {"[", "//", "/dev/", "/SYSV", "/memfd:", "anon_inode:"};

    if (f->id.length > 0) /* an ELF file, wherever it lives */
        return false;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        if (starts_with(f->path, prefixes[i]))
            return true;
    return f->path[0] == '\0';
}

/* First without opening it in earnest, since opening a device or a pipe can do things. */
static int open_regular(const char *path, struct stat *file)
{
    char self[64];
    int fd = -1, place = open(path, O_PATH | O_CLOEXEC);

    if (place < 0)
        return -1;
    if (fstat(place, file) == 0 && S_ISREG(file->st_mode)) {
        (void)snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
        fd = open(self, O_RDONLY | O_CLOEXEC);
    }
    close(place);
    return fd;
}

static bool has_id(int fd, const struct build_id *id)
{
    struct build_id found;

    return elf_build_id(fd, &found) == ST_OK && build_id_equal(&found, id);
}

static bool has_inode(int fd, const struct stat *file, uint64_t inode)
{
    struct statfs fs;

    return file->st_ino == inode || (fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAY_MAGIC);
}

/* `exact`: the kernel leads to the mapped file itself, not to what has its name today. */
static int try_path(const struct mapped_file *f, const char *path, bool exact)
{
    struct stat file;
    int fd = open_regular(path, &file);
    bool right = exact;

    if (fd < 0)
        return -1;
    if (!exact && f->id.length > 0)
        right = has_id(fd, &f->id);
    else if (!exact)
        right = f->inode == 0 || has_inode(fd, &file, f->inode);
    if (right)
        return fd;
    close(fd);
    return -1;
}

/* /proc/PID/map_files needs more rights than the rest, and only knows mappings that still are. */
static int try_map_files(const struct mapped_file *f)
{
    char path[PROC_PATH_MAX];

    if (f->end == 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, f->pid, f->start,
                   f->end);
    return try_path(f, path, f->id.length == 0);
}

static int try_root(const struct mapped_file *f)
{
    char path[PROC_PATH_MAX];

    if (f->path[0] != '/' || is_deleted(f->path))
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%u/root%s", f->pid, f->path);
    return try_path(f, path, false);
}

/* A deleted program can still be read through the processes that run it. */
static int try_executable(const struct mapped_file *f)
{
    char path[PROC_PATH_MAX];

    if (f->inode == 0 && f->id.length == 0)
        return -1; /* it could be any of the process's files */
    (void)snprintf(path, sizeof(path), "/proc/%u/exe", f->pid);
    return try_path(f, path, false);
}

/* Its process is gone: the same path in our own root will do if the id is right. */
static int try_here(const struct mapped_file *f)
{
    if (f->path[0] != '/' || f->id.length == 0)
        return -1;
    return try_path(f, f->path, false);
}

enum status mapped_file_open(const struct mapped_file *f, int *out_fd)
{
    int fd = -1;

    if (f->pid != 0)
        fd = try_map_files(f);
    if (fd < 0 && f->pid != 0)
        fd = try_root(f);
    if (fd < 0 && f->pid != 0)
        fd = try_executable(f);
    if (fd < 0)
        fd = try_here(f);
    if (fd < 0)
        return ST_NOT_FOUND;
    *out_fd = fd;
    return ST_OK;
}
