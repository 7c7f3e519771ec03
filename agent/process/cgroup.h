/* cgroup - what the path of a cgroup says about its processes: the systemd unit and the container.
 * Pure. */
#ifndef AGENT_PROCESS_CGROUP_H
#define AGENT_PROCESS_CGROUP_H

#include "common/wire.h"

enum {
    CGROUP_UNIT_MAX = 256, /* UNIT_NAME_MAX of systemd */
    CGROUP_CONTAINER_MAX = 65, /* 64 hex digits, or a name, and a NUL */
    CGROUP_SHORT_ID = 12, /* digits that docker and others show */
};

struct cgroup_names { /* value; "" where there is none */
    char unit[CGROUP_UNIT_MAX]; /* the innermost service, scope ...; else the innermost slice */
    char container[CGROUP_CONTAINER_MAX]; /* the innermost container's id */
    char service[CGROUP_UNIT_MAX]; /* the unit without ".service", else the container's short id */
};

/* Docker, containerd, CRI-O and podman, by either cgroup driver: all put the 64 digits somewhere.
 * LXC and systemd-nspawn have names instead, and Fargate ids of its own. */
void cgroup_parse(struct slice path, struct cgroup_names *out);

#endif
