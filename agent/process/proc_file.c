#include "agent/process/proc_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NAME_BYTES = 64,
    LARGE_FIRST = 64 << 10,
};

enum status proc_file_open(uint32_t pid, const char *name, int *out_fd)
{
    char path[NAME_BYTES];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ST_NOT_FOUND;
    *out_fd = fd;
    return ST_OK;
}

static size_t read_all(int fd, uint8_t *bytes, size_t room)
{
    size_t length = 0;
    ssize_t got = 0;

    while (length < room && (got = read(fd, bytes + length, room - length)) > 0)
        length += (size_t)got;
    return length;
}

/* An empty text is a process that ended between open and read. */
enum status proc_file_read(uint32_t pid, const char *name, uint8_t *bytes, size_t room,
                           struct slice *out)
{
    size_t length;
    int fd;

    if (proc_file_open(pid, name, &fd) != ST_OK)
        return ST_NOT_FOUND;
    length = read_all(fd, bytes, room);
    close(fd);
    if (length == 0)
        return ST_NOT_FOUND;
    *out = (struct slice){bytes, length};
    return ST_OK;
}

/* Grows by doubling: the size of a file in /proc is not known before. */
static enum status read_growing(int fd, size_t limit, uint8_t **out_bytes, struct slice *out)
{
    size_t room = limit < LARGE_FIRST ? limit : LARGE_FIRST, length = 0;
    uint8_t *bytes = malloc(room), *grown;

    while (bytes != NULL) {
        length += read_all(fd, bytes + length, room - length);
        if (length < room || room >= limit) {
            *out_bytes = bytes;
            *out = (struct slice){bytes, length};
            return ST_OK;
        }
        room = 2 * room < limit ? 2 * room : limit;
        grown = realloc(bytes, room);
        if (grown == NULL)
            free(bytes);
        bytes = grown;
    }
    return ST_NOMEM;
}

enum status proc_file_read_large(uint32_t pid, const char *name, size_t limit, uint8_t **out_bytes,
                                 struct slice *out)
{
    enum status st;
    int fd;

    if (proc_file_open(pid, name, &fd) != ST_OK)
        return ST_NOT_FOUND;
    st = read_growing(fd, limit, out_bytes, out);
    close(fd);
    return st;
}
