/* cgroup2 - a cgroup v2 of a test's own, wherever the hierarchy is mounted. */
#ifndef TESTS_SUPPORT_CGROUP2_H
#define TESTS_SUPPORT_CGROUP2_H

#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CGROUP2_PATH_MAX = 512 };

static inline bool cgroup2_find(char root[CGROUP2_PATH_MAX])
{
    FILE *mounts = setmntent("/proc/self/mounts", "r");
    struct mntent *m;
    bool found = false;

    while (!found && mounts != NULL && (m = getmntent(mounts)) != NULL) {
        found = strcmp(m->mnt_type, "cgroup2") == 0;
        if (found)
            (void)snprintf(root, CGROUP2_PATH_MAX, "%s", m->mnt_dir);
    }
    if (mounts != NULL)
        endmntent(mounts);
    return found;
}

/* A new directory "fleetprof-test-PID" + suffix; false: no cgroup v2, or no right to. The caller
 * removes it when the processes in it have ended. */
static inline bool cgroup2_make(const char *suffix, char path[CGROUP2_PATH_MAX])
{
    char root[CGROUP2_PATH_MAX];

    if (!cgroup2_find(root) || strlen(root) > CGROUP2_PATH_MAX / 2)
        return false;
    (void)snprintf(path, CGROUP2_PATH_MAX, "%.256s/fleetprof-test-%d%.32s", root, (int)getpid(),
                   suffix);
    return mkdir(path, 0755) == 0;
}

static inline bool cgroup2_join(const char *path, pid_t pid) /* 0: the caller itself */
{
    char procs[CGROUP2_PATH_MAX + 64];
    bool written;
    FILE *f;

    (void)snprintf(procs, sizeof(procs), "%s/cgroup.procs", path);
    f = fopen(procs, "we");
    if (f == NULL)
        return false;
    written = fprintf(f, "%d", (int)pid) > 0;
    return fclose(f) == 0 && written;
}

#endif
