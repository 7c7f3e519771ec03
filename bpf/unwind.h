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
    __u32 end; /* enum walk_end */
};

#define USER_ADDRESS_END 0x800000000000ull /* code lies below, five-level page tables or not */
#define USER_ADDRESS_START 0x1000ull

static __always_inline int could_be_code(__u64 address)
{
    return address >= USER_ADDRESS_START && address < USER_ADDRESS_END;
}

/* Writes up to ABI_FRAMES_MAX addresses, innermost first. The helper does not say why it stopped.
 * Where code keeps no frame pointers, the last thing it read is often no address at all and is
 * dropped; zero, though, is what start code puts at the outer end. A lone frame means that the
 * frame pointer led nowhere, since even main has a caller. */
static __always_inline struct unwound unwind_user(struct bpf_perf_event_data *ctx, __u64 *frames)
{
    long bytes = bpf_get_stack(ctx, frames, ABI_FRAMES_MAX * sizeof(__u64), BPF_F_USER_STACK);
    struct unwound walk = {0, WALK_UNREADABLE};
    __u64 outermost;
    __u32 last;

    if (bytes < (long)sizeof(__u64))
        return walk;
    walk.frames = (__u32)bytes / sizeof(__u64);
    last = walk.frames - 1;
    if (last >= ABI_FRAMES_MAX - 1) {
        walk.end = WALK_TRUNCATED;
        return walk;
    }
    outermost = frames[last];
    if (!could_be_code(outermost))
        walk.frames = last;
    if (walk.frames > 1 && (could_be_code(outermost) || outermost == 0))
        walk.end = WALK_ROOT;
    return walk;
}

#endif
