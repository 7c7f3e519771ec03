/* kernel - the few members of kernel structures that the programs read.
 * Not vmlinux.h: each member is found by its name in the running kernel's BTF when the program is
 * loaded (CO-RE), so only names and types matter here, not places. */
#ifndef BPF_KERNEL_H
#define BPF_KERNEL_H

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h: the task has no user side */

struct task_struct {
    unsigned int flags;
} __attribute__((preserve_access_index));

#endif
