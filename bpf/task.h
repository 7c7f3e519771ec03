/* task - who runs: ids as the agent sees them from its own pid namespace, and cgroups. */
#ifndef BPF_TASK_H
#define BPF_TASK_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel.h"

/* Set before the program is loaded. */
const volatile __u32
    agent_pid_namespace; /* its inode; 0: the first one, whose ids need no search */
const volatile __u32 cgroup_v1_memory; /* the memory controller is on a v1 hierarchy */

#define PID_NAMESPACES_MAX 32 /* include/linux/pid_namespace.h: MAX_PID_NS_LEVEL */

struct task_ids {
    __u32 pid, tid; /* 0: not visible to the agent */
};

/* A namespace is found at the same depth for every process that is visible from it. */
static __always_inline __u32 number_in_agents_namespace(struct pid *pid)
{
    __u32 level = BPF_CORE_READ(pid, level);
    __u64 numbers = (__u64)pid + bpf_core_field_offset(pid->numbers);

    for (__u32 i = 0; i < PID_NAMESPACES_MAX && i <= level; i++) {
        struct {
            __u32 number, unused;
            struct pid_namespace *ns;
        } at = {0, 0, 0};
        struct pid_namespace *ns;

        _Static_assert(sizeof(at) == 16, "as the kernel's struct upid");
        if (bpf_probe_read_kernel(&at, sizeof(at), (void *)(numbers + i * sizeof(at))) != 0)
            return 0;
        ns = at.ns;
        if (BPF_CORE_READ(ns, ns.inum) == agent_pid_namespace)
            return at.number;
    }
    return 0;
}

static __always_inline struct task_ids current_ids(void)
{
    struct task_struct *task;
    struct signal_struct *signal;
    struct task_ids ids;

    if (agent_pid_namespace == 0) {
        __u64 both = bpf_get_current_pid_tgid();

        ids.pid = both >> 32;
        ids.tid = (__u32)both;
        return ids;
    }
    task = (void *)bpf_get_current_task();
    signal = BPF_CORE_READ(task, signal);
    ids.pid = number_in_agents_namespace(BPF_CORE_READ(signal, pids[PIDTYPE_TGID]));
    ids.tid = number_in_agents_namespace(BPF_CORE_READ(task, thread_pid));
    return ids;
}

static __always_inline __u32 current_flags(void)
{
    struct task_struct *task = (void *)bpf_get_current_task();

    return BPF_CORE_READ(task, flags);
}

/* The inode of the directory in the v1 memory hierarchy; 0: there is none. */
static __always_inline __u64 current_cgroup_v1(void)
{
    struct task_struct *task;
    struct css_set *set;
    struct cgroup_subsys_state *css = 0;
    struct cgroup *cgroup;
    __u64 places;

    if (!cgroup_v1_memory || !bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
        return 0;
    task = (void *)bpf_get_current_task();
    set = BPF_CORE_READ(task, cgroups);
    places = (__u64)set + bpf_core_field_offset(set->subsys);
    places += 8 * bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
    if (bpf_probe_read_kernel(&css, sizeof(css), (void *)places) != 0)
        return 0;
    cgroup = BPF_CORE_READ(css, cgroup);
    return BPF_CORE_READ(cgroup, root, hierarchy_id) == 0 ? 0 : BPF_CORE_READ(cgroup, kn, id);
}

#endif
