#include "agent/process/pids.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOT_NAMESPACE 0xEFFFFFFCu /* include/linux/proc_ns.h: PROC_PID_INIT_INO */

enum pids_view pids_view(void)
{
    struct stat ns;
    char self[16];
    ssize_t length = readlink("/proc/self", self, sizeof(self) - 1);

    if (length > 0) {
        self[length] = '\0';
        if (strtol(self, NULL, 10) != getpid())
            return PIDS_FOREIGN;
    }
    if (stat("/proc/self/ns/pid", &ns) != 0 || ns.st_ino == ROOT_NAMESPACE)
        return PIDS_HOST;
    return PIDS_NAMESPACE;
}

static bool parse_pid(const char *text, uint32_t *out)
{
    uint64_t pid = 0;

    if (text[0] == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || pid > UINT32_MAX / 10)
            return false;
        pid = pid * 10 + (uint64_t)(*text - '0');
    }
    *out = (uint32_t)pid;
    return pid > 0 && pid <= INT32_MAX;
}

enum status pids_each(enum status (*visit)(void *arg, uint32_t pid), void *arg)
{
    DIR *proc = opendir("/proc");
    enum status st = ST_OK;
    struct dirent *entry;
    uint32_t pid;

    if (proc == NULL)
        return status_from_errno(errno);
    while (st == ST_OK && (entry = readdir(proc)) != NULL)
        if (parse_pid(entry->d_name, &pid))
            st = visit(arg, pid);
    closedir(proc);
    return st;
}

/* A cgroup whose processes cannot be listed (a threaded one) is no failure: its parent lists them.
 */
static enum status visit_procs(int directory, enum status (*visit)(void *arg, uint32_t pid),
                               void *arg)
{
    int fd = openat(directory, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    enum status st = ST_OK;
    uint32_t pid;
    FILE *f;

    if (fd < 0)
        return ST_OK;
    f = fdopen(fd, "r");
    if (f == NULL) {
        close(fd);
        return ST_NOMEM;
    }
    while (st == ST_OK && fscanf(f, "%" SCNu32, &pid) == 1)
        if (pid != 0) /* of another pid namespace */
            st = visit(arg, pid);
    fclose(f);
    return st;
}

/* Takes `fd` over. A cgroup that is removed meanwhile has no processes any more. */
static enum status visit_tree(int fd, int depth, enum status (*visit)(void *arg, uint32_t pid),
                              void *arg)
{
    DIR *directory = fdopendir(fd);
    enum status st;
    struct dirent *entry;

    if (directory == NULL) {
        close(fd);
        return ST_NOMEM;
    }
    st = visit_procs(fd, visit, arg);
    while (st == ST_OK && depth < PIDS_DEPTH_MAX && (entry = readdir(directory)) != NULL) {
        int below = -1;

        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (below >= 0)
            st = visit_tree(below, depth + 1, visit, arg);
    }
    closedir(directory);
    return st;
}

enum status pids_each_below(const char *directory, enum status (*visit)(void *arg, uint32_t pid),
                            void *arg)
{
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return status_from_errno(errno);
    return visit_tree(fd, 0, visit, arg);
}
