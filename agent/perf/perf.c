#include "agent/perf/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_open(struct perf_event_attr *attr, int cgroup_fd, uint32_t cpu, int *out_fd)
{
    unsigned long flags = PERF_FLAG_FD_CLOEXEC;
    long fd;

    attr->size = sizeof(*attr);
    if (cgroup_fd >= 0)
        flags |= PERF_FLAG_PID_CGROUP;
    fd = syscall(SYS_perf_event_open, attr, cgroup_fd >= 0 ? cgroup_fd : PERF_EVERY_TASK, (int)cpu,
                 -1, flags);
    if (fd < 0)
        return -errno;
    *out_fd = (int)fd;
    return 0;
}

const char *perf_explain(int err)
{
    switch (err) {
    case EACCES:
    case EPERM:
        return "permission denied: run as root or with CAP_PERFMON and CAP_BPF";
    case EMFILE:
    case ENFILE:
        return "too many open files: raise RLIMIT_NOFILE above four times the number of CPUs";
    case ENODEV:
        return "the CPU is not on line";
    case EBADF:
    case ENOENT:
        return "the scope is not a cgroup that perf can follow (is the perf_event controller "
               "mounted as cgroup v1?)";
    case ENOSYS:
    case EOPNOTSUPP:
        return "the kernel is built without perf events";
    default:
        return strerror(err);
    }
}
