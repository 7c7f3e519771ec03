/* oncpu - one record for each tick of a CPU's sampling clock: who runs, and both of its stacks.
 * The record is put together in per-CPU scratch memory and only its used length goes to the ring
 * buffer. Each run ends in exactly one of the counters DELIVERED, IDLE, RING_FULL, SCRATCH_BUSY. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/kernel.h"
#include "bpf/unwind.h"

#define FRAMES_BYTES (ABI_FRAMES_MAX * sizeof(__u64))
#define RECORD_BYTES (sizeof(struct abi_sample) + 2 * FRAMES_BYTES)
#define USER_MODE_RING 3 /* the low bits of cs on x86 */

struct scratch {
    __u32 busy; /* a run that was interrupted by another still writes here */
    __u32 unused;
    __u64 record[RECORD_BYTES / sizeof(__u64)]; /* a struct abi_sample */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct scratch);
} scratches SEC(".maps");

struct counters {
    __u64 counts[ABI_COUNTERS];
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct counters);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 << 20); /* the agent sets its own size before it loads the program */
} ring SEC(".maps");

static __always_inline void count(enum abi_counter which)
{
    __u32 zero = 0;
    struct counters *c = bpf_map_lookup_elem(&counters, &zero);

    if (c)
        __sync_fetch_and_add(&c->counts[which], 1);
}

static __always_inline __u32 task_flags(void)
{
    struct task_struct *task = (void *)bpf_get_current_task();

    return BPF_CORE_READ(task, flags);
}

static __always_inline void describe_task(struct abi_sample *s)
{
    __u64 pid_tid = bpf_get_current_pid_tgid();

    s->time_ns = bpf_ktime_get_ns();
    s->cgroup = bpf_get_current_cgroup_id();
    s->pid = pid_tid >> 32;
    s->tid = (__u32)pid_tid;
    s->cpu = bpf_get_smp_processor_id();
    s->flags = task_flags() & PF_KTHREAD ? ABI_KERNEL_THREAD : 0;
    bpf_get_current_comm(s->comm, sizeof(s->comm));
}

/* Fills in both stacks; the length of the frames in bytes. */
static __always_inline __u32 capture_stacks(struct bpf_perf_event_data *ctx, struct abi_sample *s)
{
    struct unwound user = {0, WALK_NONE};
    long kernel_bytes = bpf_get_stack(ctx, s->frames, FRAMES_BYTES, 0);
    int failed = kernel_bytes < 0 && (ctx->regs.cs & USER_MODE_RING) != USER_MODE_RING;
    __u32 kernel_frames = 0;

    if (kernel_bytes > 0)
        kernel_frames = (__u32)kernel_bytes / sizeof(__u64);
    if (kernel_frames > ABI_FRAMES_MAX) /* never; the verifier wants to see it */
        kernel_frames = ABI_FRAMES_MAX;
    if (!(s->flags & ABI_KERNEL_THREAD)) {
        user = unwind_user(ctx, s->frames + kernel_frames);
        failed |= user.frames == 0;
    }
    if (user.frames > ABI_FRAMES_MAX)
        user.frames = ABI_FRAMES_MAX;
    if (failed)
        count(ABI_COUNTER_STACK_FAILED);
    s->kernel_frames = kernel_frames;
    s->user_frames = user.frames;
    s->end = user.end;
    return (kernel_frames + user.frames) * sizeof(__u64);
}

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *ctx)
{
    __u32 zero = 0;
    struct scratch *scratch;
    struct abi_sample *s;
    __u32 bytes;

    count(ABI_COUNTER_RUNS);
    if ((__u32)bpf_get_current_pid_tgid() == 0) {
        count(ABI_COUNTER_IDLE);
        return 0;
    }
    scratch = bpf_map_lookup_elem(&scratches, &zero);
    if (!scratch || scratch->busy) {
        count(ABI_COUNTER_SCRATCH_BUSY);
        return 0;
    }
    scratch->busy = 1;
    barrier(); /* for an interrupting run, not for another CPU */
    s = (struct abi_sample *)scratch->record;
    describe_task(s);
    bytes = capture_stacks(ctx, s);
    if (bytes > 2 * FRAMES_BYTES)
        bytes = 2 * FRAMES_BYTES;
    if (bpf_ringbuf_output(&ring, s, sizeof(*s) + bytes, BPF_RB_NO_WAKEUP) == 0)
        count(ABI_COUNTER_DELIVERED);
    else
        count(ABI_COUNTER_RING_FULL);
    barrier();
    scratch->busy = 0;
    return 0;
}

char LICENSE[] SEC("license") = "GPL"; /* bpf_get_stack is for GPL programs only */
