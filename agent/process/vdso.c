#include "agent/process/vdso.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAPS_LINE_MAX = 512 };

/* Where the mapping that starts at `start` ends; 0: there is none. */
static uint64_t mapping_end(uint64_t start)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[MAPS_LINE_MAX];
    uint64_t from, to, end = 0;

    while (maps != NULL && end == 0 && fgets(line, sizeof(line), maps) != NULL)
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2 && from == start)
            end = to;
    if (maps != NULL)
        fclose(maps);
    return end;
}

enum status vdso_open(int *out_fd)
{
    uint64_t start = getauxval(AT_SYSINFO_EHDR);
    uint64_t end = start != 0 ? mapping_end(start) : 0;
    enum status st = ST_OK;
    int fd;

    if (end <= start)
        return ST_NOT_FOUND;
    fd = memfd_create("vdso", MFD_CLOEXEC);
    if (fd < 0)
        return status_from_errno(errno);
    if (write(fd, (const void *)(uintptr_t)start, end - start) != (ssize_t)(end - start)) {
        st = ST_IO;
        close(fd);
        return st;
    }
    *out_fd = fd;
    return ST_OK;
}
