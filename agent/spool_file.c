#include "agent/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/chunk.h"

/* FNV-1a (Fowler, Noll, Vo): finds torn and rotten files; malice it need not find. */
uint64_t spool_file_checksum(struct slice bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes.length; i++)
        hash = (hash ^ bytes.bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- names ---- */

static void format_name(const struct spool_file *f, bool whole, char name[SPOOL_NAME_MAX])
{
    snprintf(name, SPOOL_NAME_MAX,
             "chunk-%016" PRIx64 "-%016" PRIx64 "-%08" PRIx32 "-%016" PRIx64 "%s", f->serial,
             f->added.ns, f->samples, f->checksum, whole ? "" : ".new");
}

bool spool_file_parse(const char *name, struct spool_file *out, bool *out_whole)
{
    struct spool_file f;
    char again[SPOOL_NAME_MAX];

    if (sscanf(name, "chunk-%16" SCNx64 "-%16" SCNx64 "-%8" SCNx32 "-%16" SCNx64, &f.serial,
               &f.added.ns, &f.samples, &f.checksum) != 4)
        return false;
    for (int whole = 0; whole <= 1; whole++) {
        format_name(&f, whole, again);
        if (strcmp(name, again) == 0) { /* sscanf alone takes signs, spaces and tails */
            *out = f;
            *out_whole = whole;
            return true;
        }
    }
    return false;
}

/* ---- writing ---- */

static enum status from_write_error(int err)
{
    return status_from_errno(err) == ST_NO_SPACE ? ST_NO_SPACE : ST_IO;
}

static enum status write_all(int fd, struct slice bytes)
{
    while (bytes.length > 0) {
        ssize_t n = write(fd, bytes.bytes, bytes.length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return from_write_error(errno);
        bytes.bytes += n;
        bytes.length -= (size_t)n;
    }
    return fsync(fd) == 0 ? ST_OK : from_write_error(errno);
}

static enum status write_new(int directory, const char *name, struct slice bytes)
{
    int fd = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum status st;

    if (fd < 0)
        return from_write_error(errno);
    st = write_all(fd, bytes);
    if (close(fd) != 0 && st == ST_OK) /* some file systems learn only here that they are full */
        st = from_write_error(errno);
    return st;
}

enum status spool_file_write(int directory, const struct spool_file *f, struct slice bytes)
{
    char fresh[SPOOL_NAME_MAX], whole[SPOOL_NAME_MAX];
    enum status st;

    format_name(f, false, fresh);
    format_name(f, true, whole);
    st = write_new(directory, fresh, bytes);
    if (st == ST_OK && renameat(directory, fresh, directory, whole) != 0)
        st = from_write_error(errno);
    if (st == ST_OK && fsync(directory) != 0)
        st = from_write_error(errno);
    if (st != ST_OK) {
        spool_file_remove(directory, f, false);
        spool_file_remove(directory, f, true);
    }
    return st;
}

/* ---- reading ---- */

static enum status open_whole(int directory, const struct spool_file *f, int *out_fd,
                              size_t *out_length)
{
    char name[SPOOL_NAME_MAX];
    struct stat file;
    int fd;

    format_name(f, true, name);
    fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? ST_IO : ST_INVALID;
    if (fstat(fd, &file) != 0 || file.st_size > CHUNK_PACKED_MAX) {
        (void)close(fd); /* only read */
        return ST_INVALID;
    }
    *out_fd = fd;
    *out_length = (size_t)file.st_size;
    return ST_OK;
}

static bool read_all(int fd, uint8_t *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = read(fd, bytes, length);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

enum status spool_file_read(int directory, const struct spool_file *f, struct blob *out)
{
    struct blob b = {0};
    int fd;
    enum status st = open_whole(directory, f, &fd, &b.length);

    if (st != ST_OK)
        return st;
    b.bytes = malloc(b.length > 0 ? b.length : 1);
    if (b.bytes == NULL)
        st = ST_NOMEM;
    else if (!read_all(fd, b.bytes, b.length) || spool_file_checksum(blob_slice(&b)) != f->checksum)
        st = ST_INVALID;
    (void)close(fd); /* only read */
    if (st != ST_OK) {
        blob_deinit(&b);
        return st;
    }
    *out = b;
    return ST_OK;
}

/* Not synced: a file that a crash brings back is sent once more, which does no harm. */
void spool_file_remove(int directory, const struct spool_file *f, bool whole)
{
    char name[SPOOL_NAME_MAX];

    format_name(f, whole, name);
    (void)unlinkat(directory, name, 0);
}
