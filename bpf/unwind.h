/* unwind - the user part of a stack: how many frames, and why it ended there.
 * Today the kernel walks frame pointers. A table-driven walk takes the same arguments and gives the
 * same answer, so that nothing around it changes. */
#ifndef BPF_UNWIND_H
#define BPF_UNWIND_H

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

struct unwound {
    __u32 frames;
    __u32 stop; /* enum abi_stop */
};

/* Writes up to ABI_FRAMES_MAX addresses, innermost first. The helper does not say why it stopped;
 * a lone frame means that the frame pointer led nowhere, since even main has a caller. */
static __always_inline struct unwound unwind_user(struct bpf_perf_event_data *ctx, __u64 *frames)
{
    long bytes = bpf_get_stack(ctx, frames, ABI_FRAMES_MAX * sizeof(__u64), BPF_F_USER_STACK);
    struct unwound walk = {0, ABI_STOP_UNREADABLE};

    if (bytes <= 0)
        return walk;
    walk.frames = (__u32)bytes / sizeof(__u64);
    if (walk.frames >= ABI_FRAMES_MAX)
        walk.stop = ABI_STOP_MAX;
    else if (walk.frames > 1)
        walk.stop = ABI_STOP_END;
    return walk;
}

#endif
