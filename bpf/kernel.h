/* kernel - the few members of kernel structures that the programs read.
 * Not vmlinux.h: each member is found by its name in the running kernel's BTF when the program is
 * loaded (CO-RE), so only names and types matter here, not places. */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h: the task has no user side */
#define PIDTYPE_TGID 1 /* include/linux/pid_types.h */

struct atomic {
    int counter;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
    unsigned int inum;
};

struct pid_namespace {
    struct ns_common ns;
};

struct upid {
    int nr;
    struct pid_namespace *ns;
};

struct pid {
    unsigned int level;
    struct upid numbers[1]; /* level + 1 of them: a namespace and each one around it */
};

struct signal_struct {
    struct atomic live; /* threads that have not exited */
    struct pid *pids[4];
};

struct kernfs_node {
    unsigned long long id;
};

struct cgroup_root {
    int hierarchy_id; /* 0: v2's */
};

struct cgroup {
    struct kernfs_node *kn;
    struct cgroup_root *root;
};

struct cgroup_subsys_state {
    struct cgroup *cgroup;
};

enum cgroup_subsys_id {
    memory_cgrp_id = 4, /* the running kernel's own number is looked up */
};

struct css_set {
    struct cgroup_subsys_state *subsys[16];
};

struct task_struct {
    unsigned int flags;
    unsigned int __state; /* from 5.14 on */
    int pid;
    void *stack;
    struct pid *thread_pid;
    struct signal_struct *signal;
    struct css_set *cgroups;
};

struct task_struct___before_5_14 {
    long state;
};

#pragma clang attribute pop

#endif
