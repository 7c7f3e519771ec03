/* walk - the walks of bpf/unwind.h, run on request: a raw tracepoint program that nothing triggers
 * but a test run, whose five arguments are the registers ip, sp, bp, r10 and the process. Current
 * is then the testing process, and the stack is in its memory. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/unwind.h"

__u32 frame_count;
__u32 end; /* enum walk_end */
__u64 frames[ABI_FRAMES_MAX + 1];

static __always_inline struct unwind_world *world_of(struct bpf_raw_tracepoint_args *ctx)
{
    struct unwind_world *w = current_world();

    if (w) {
        w->registers.rip = ctx->args[0];
        w->registers.rsp = ctx->args[1];
        w->registers.rbp = ctx->args[2];
        w->registers.r10 = ctx->args[3];
    }
    return w;
}

static __always_inline int report(struct unwound walk)
{
    frame_count = walk.frames;
    end = walk.end;
    return 0;
}

static __always_inline int walk(struct bpf_raw_tracepoint_args *ctx, enum unwind_way way)
{
    struct unwind_world *w = world_of(ctx);

    if (!w)
        return 0;
    report(unwind_by_tables(w, ctx->args[4], way));
    bpf_probe_read_kernel(frames, sizeof(frames), w->frames);
    return 0;
}

SEC("raw_tp")
int walk_fast(struct bpf_raw_tracepoint_args *ctx)
{
    return walk(ctx, UNWIND_FAST);
}

SEC("raw_tp")
int walk_compat(struct bpf_raw_tracepoint_args *ctx)
{
    return walk(ctx, UNWIND_COMPAT);
}

/* ---- for the benchmark: what a walk is compared with ---- */

SEC("raw_tp")
int time_fast(struct bpf_raw_tracepoint_args *ctx)
{
    struct unwind_world *w = world_of(ctx);

    return w ? report(unwind_by_tables(w, ctx->args[4], UNWIND_FAST)) : 0;
}

SEC("raw_tp")
int time_compat(struct bpf_raw_tracepoint_args *ctx)
{
    struct unwind_world *w = world_of(ctx);

    return w ? report(unwind_by_tables(w, ctx->args[4], UNWIND_COMPAT)) : 0;
}

SEC("raw_tp")
int time_plain(struct bpf_raw_tracepoint_args *ctx)
{
    struct unwind_world *w = world_of(ctx);

    return w ? report(unwind_plain(ctx, w)) : 0;
}

SEC("raw_tp")
int time_nothing(struct bpf_raw_tracepoint_args *ctx)
{
    (void)world_of(ctx);
    return 0;
}

char LICENSE[] SEC("license") = "GPL";
