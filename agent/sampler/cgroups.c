#include "agent/sampler/cgroups.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CGROUPS_PATH "/proc/cgroups"

enum { CGROUPS_LINE_MAX = 128, DEPTH_MAX = 256 };

/* Upward to where the file system ends. */
enum status cgroup_scope_read(const char *directory, struct cgroup_scope *out)
{
    char path[PATH_MAX];
    struct stat place, above;
    struct cgroup_scope scope;
    size_t length;

    if (stat(directory, &place) != 0)
        return status_from_errno(errno);
    scope = (struct cgroup_scope){.id = place.st_ino};
    length = (size_t)snprintf(path, sizeof(path), "%s", directory);
    for (; scope.level < DEPTH_MAX; scope.level++) {
        if (length + sizeof("/..") > sizeof(path))
            return ST_TOO_BIG;
        memcpy(path + length, "/..", sizeof("/.."));
        length += strlen("/..");
        if (stat(path, &above) != 0)
            return status_from_errno(errno);
        if (above.st_dev != place.st_dev)
            break;
    }
    *out = scope;
    return ST_OK;
}

bool cgroup_memory_is_on_v1(void)
{
    char line[CGROUPS_LINE_MAX];
    unsigned hierarchy = 0;
    FILE *f = fopen(CGROUPS_PATH, "re");

    if (f == NULL)
        return false;
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "memory %u", &hierarchy) == 1)
            break;
    fclose(f);
    return hierarchy != 0;
}
