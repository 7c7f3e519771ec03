/* record - a struct abi_sample in the making: who runs, and a copy of the stack behind the frames.
 */
#ifndef BPF_RECORD_H
#define BPF_RECORD_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/stack_copy.h"
#include "bpf/task.h"
#include "bpf/unwind.h"

#define FRAMES_BYTES (ABI_FRAMES_MAX * sizeof(__u64))
#define RECORD_BYTES                                                               \
    (sizeof(struct abi_sample) + 2 * FRAMES_BYTES + sizeof(struct abi_raw_stack) + \
     ABI_RAW_STACK_MAX)

static __always_inline void describe_task(struct abi_sample *s)
{
    struct task_ids ids = current_ids();

    s->time_ns = bpf_ktime_get_ns();
    s->cgroup = bpf_get_current_cgroup_id();
    s->cgroup_v1 = current_cgroup_v1();
    s->pid = ids.pid;
    s->tid = ids.tid;
    s->cpu = bpf_get_smp_processor_id();
    s->flags = current_flags() & PF_KTHREAD ? ABI_KERNEL_THREAD : 0;
    bpf_get_current_comm(s->comm, sizeof(s->comm));
}

/* Behind the frames, which end `offset` bytes into the record; the bytes that it adds. */
static __always_inline __u32 append_stack(struct abi_sample *s, __u32 offset,
                                          const struct unwind_world *w)
{
    struct abi_raw_stack *raw = (void *)s + offset;
    __u32 bytes;

    raw->registers.ip = w->registers.rip;
    raw->registers.sp = w->registers.rsp;
    raw->registers.bp = w->registers.rbp;
    raw->registers.r10 = w->registers.r10;
    raw->unused = 0;
    bytes = stack_copy(s, offset + sizeof(*raw), w->registers.rsp);
    raw->bytes = bytes;
    s->flags |= ABI_DEFERRED;
    return sizeof(*raw) + bytes;
}

#endif
