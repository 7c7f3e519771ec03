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

/* From w->registers. */
static __always_inline struct unwound walk_registers(void *ctx, struct unwind_world *w, __u32 pid,
                                                     enum unwind_way way)
{
    if (runs_32_bit_code(&w->registers))
        return unwind_plain_or(ctx, w, WALK_UNSUPPORTED);
    return unwind_by_tables(w, pid, way);
}

/* What was walked goes behind the kernel's frames, which are in place, and a copy of the stack
 * behind both; the sample's length in bytes. */
static __always_inline __u32 finish_stacks(struct abi_sample *s, const struct unwind_world *w,
                                           __u32 kernel_frames, struct unwound user, int copy)
{
    __u32 bytes;

    if (kernel_frames > ABI_FRAMES_MAX) /* never; the verifier wants to see it */
        kernel_frames = ABI_FRAMES_MAX;
    if (user.frames > ABI_FRAMES_MAX)
        user.frames = ABI_FRAMES_MAX;
    if (w)
        bpf_probe_read_kernel(s->frames + kernel_frames, user.frames * sizeof(__u64), w->frames);
    s->kernel_frames = kernel_frames;
    s->user_frames = user.frames;
    s->end = user.end;
    bytes = sizeof(*s) + (kernel_frames + user.frames) * sizeof(__u64);
    if (w && copy)
        bytes += append_stack(s, bytes, w);
    return bytes;
}

#endif
