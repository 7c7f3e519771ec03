#include "common/symbols/debug_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/symbols/elf.h"
#include "common/symbols/xz.h"

enum { LINK_BYTES_MAX = 4096, READ_BYTES = 32 << 10, CRC_BYTES = 4 };

/* A plain file, or -1. Nothing here waits: a FIFO in the place of a file is opened without. */
static int open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat s;

    if (fd < 0)
        return -1;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size <= DEBUG_FILE_BYTES_MAX)
        return fd;
    close(fd);
    return -1;
}

/* ---- by build id ---- */

static bool has_id(int fd, const struct build_id *id)
{
    struct elf_file *f = NULL;
    struct build_id found;
    bool same;

    if (elf_file_open(fd, &f) != ST_OK)
        return false;
    same = elf_gnu_build_id(f, &found) == ST_OK && build_id_equal(&found, id);
    elf_file_close(f);
    return same;
}

static enum status open_by_id(const char *root, const struct build_id *id, int *out_fd)
{
    char hex[BUILD_ID_TEXT_MAX], path[PATH_MAX];
    int fd, length;

    build_id_format(id, hex);
    length = snprintf(path, sizeof(path), "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2);
    if (id->length < 2 || length < 0 || length >= (int)sizeof(path))
        return ST_NOT_FOUND;
    fd = open_file(path);
    if (fd < 0)
        return ST_NOT_FOUND;
    if (has_id(fd, id)) {
        *out_fd = fd;
        return ST_OK;
    }
    close(fd);
    return ST_NOT_FOUND;
}

/* ---- by link ---- */

static bool has_crc(int fd, uint32_t wanted)
{
    uint8_t bytes[READ_BYTES];
    uint32_t crc = 0;
    off_t at = 0;
    ssize_t got;

    while ((got = pread(fd, bytes, sizeof(bytes), at)) > 0 && at <= DEBUG_FILE_BYTES_MAX) {
        crc = xz_crc32((struct slice){bytes, (size_t)got}, crc);
        at += got;
    }
    return got == 0 && crc == wanted;
}

struct debug_link {
    char name[NAME_MAX + 1];
    uint32_t crc;
};

/* A file name, zeros up to a multiple of four, and the checksum of the file. */
static bool read_link(struct elf_file *f, struct debug_link *out)
{
    struct elf_section s;
    size_t length, crc_at;

    if (!elf_file_section(f, ".gnu_debuglink", LINK_BYTES_MAX, &s))
        return false;
    length = strnlen((const char *)s.bytes.bytes, s.bytes.length);
    crc_at = (length + CRC_BYTES) / CRC_BYTES * CRC_BYTES;
    if (length == 0 || length >= sizeof(out->name) || crc_at + CRC_BYTES > s.bytes.length ||
        memchr(s.bytes.bytes, '/', length) != NULL)
        return false;
    memcpy(out->name, s.bytes.bytes, length);
    out->name[length] = '\0';
    memcpy(&out->crc, s.bytes.bytes + crc_at, CRC_BYTES);
    return true;
}

/* The folder that the open binary lies in, as far as this process can see it. */
static bool folder_of(int fd, char out[PATH_MAX])
{
    char link[64];
    ssize_t length;
    char *slash;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, out, PATH_MAX - 1);
    if (length <= 0)
        return false;
    out[length] = '\0';
    slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static enum status open_by_link(const char *root, int binary, struct elf_file *f, int *out_fd)
{
    static const char *const below[] = {"", "/.debug", NULL};
    struct debug_link link;
    char folder[PATH_MAX], path[3 * PATH_MAX];

    if (!read_link(f, &link) || !folder_of(binary, folder))
        return ST_NOT_FOUND;
    for (unsigned i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        int fd;

        if (below[i] != NULL)
            (void)snprintf(path, sizeof(path), "%s%s/%s", folder, below[i], link.name);
        else
            (void)snprintf(path, sizeof(path), "%s%s/%s", root, folder, link.name);
        fd = open_file(path);
        if (fd >= 0 && has_crc(fd, link.crc)) {
            *out_fd = fd;
            return ST_OK;
        }
        if (fd >= 0)
            close(fd);
    }
    return ST_NOT_FOUND;
}

enum status debug_file_open(const char *root, int fd, struct elf_file *f, int *out_fd)
{
    struct build_id id;

    if (elf_gnu_build_id(f, &id) == ST_OK && open_by_id(root, &id, out_fd) == ST_OK)
        return ST_OK;
    return open_by_link(root, fd, f, out_fd);
}

/* ---- what dwz made ---- */

enum status debug_file_open_alternate(const char *root, struct elf_file *f, int *out_fd)
{
    struct elf_section s;
    struct build_id id;
    size_t length;

    if (elf_file_section_bytes(f, ".gnu_debugaltlink") == 0) {
        *out_fd = -1;
        return ST_OK;
    }
    if (!elf_file_section(f, ".gnu_debugaltlink", LINK_BYTES_MAX, &s))
        return ST_NOT_FOUND;
    length = strnlen((const char *)s.bytes.bytes, s.bytes.length); /* a path: the id is better */
    if (length == s.bytes.length ||
        build_id_from_bytes(s.bytes.bytes + length + 1, s.bytes.length - length - 1, &id) != ST_OK)
        return ST_NOT_FOUND;
    return open_by_id(root, &id, out_fd);
}
