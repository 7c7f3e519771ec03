/* oncpu - one record for each tick of a CPU's sampling clock: who runs, and both of its stacks.
 * The record is put together in per-CPU scratch memory and only its used length goes to the ring
 * buffer. Each run ends in exactly one of the counters DELIVERED, IDLE, RING_FULL, SCRATCH_BUSY.
 * A process whose mappings are unknown is sent with a copy of its stack; and what is known of one
 * is dropped right when it ends or executes another file, so no walk goes by a dead image. */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/kernel.h"
#include "bpf/record.h"
#include "bpf/unwind.h"

/* Copies take 1 to 4 us each: at most 0.4 % of a CPU. A known process may come to code that its
 * ranges lack because it has just been mapped, or at every sample because its code keeps no frame
 * pointers: enough copies for the tenth of a second until the agent has seen the mapping. */
#define COPIES_PER_SECOND 1000
#define UNMAPPED_COPIES_PER_SECOND 10
#define NS_PER_SECOND 1000000000ull

struct scratch {
    __u32 busy; /* a run that was interrupted by another still writes here */
    __u32 copies; /* of stacks, in this second */
    __u64 second;
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

static __always_inline void add(enum abi_counter which, __u64 amount)
{
    __u32 zero = 0;
    struct counters *c = bpf_map_lookup_elem(&counters, &zero);

    if (c)
        __sync_fetch_and_add(&c->counts[which], amount);
}

static __always_inline void count(enum abi_counter which)
{
    add(which, 1);
}

/* ---- stacks ---- */

/* An error where there should be a kernel part: no stack to be had. */
static __always_inline long capture_kernel(struct bpf_perf_event_data *ctx, struct abi_sample *s)
{
    long bytes = bpf_get_stack(ctx, s->frames, FRAMES_BYTES, 0);

    if (bytes < 0 && (ctx->regs.cs & USER_MODE_RING) == USER_MODE_RING)
        return 0;
    return bytes < 0 ? bytes : bytes / (long)sizeof(__u64);
}

/* 0: w->registers are the user side's. */
static __always_inline int take_registers(struct bpf_perf_event_data *ctx, struct unwind_world *w,
                                          enum unwind_way way)
{
    if ((ctx->regs.cs & USER_MODE_RING) == USER_MODE_RING) {
        w->registers.rip = ctx->regs.rip;
        w->registers.rsp = ctx->regs.rsp;
        w->registers.rbp = ctx->regs.rbp;
        w->registers.r10 = ctx->regs.r10;
        w->registers.cs = ctx->regs.cs;
        return 0;
    }
    return read_saved_registers(w, way) != 0 || !came_from_user_mode(&w->registers);
}

/* Kernel threads that borrow a user's memory have no user side of their own: NONE. */
static __always_inline struct unwound capture_user(struct bpf_perf_event_data *ctx,
                                                   struct unwind_world *w, __u32 pid,
                                                   enum unwind_way way)
{
    if (way == UNWIND_PLAIN || !unwind_tables_on)
        return unwind_plain(ctx, w);
    if (take_registers(ctx, w, way) != 0)
        return (struct unwound){0, WALK_NONE};
    return walk_registers(ctx, w, pid, way);
}

/* No copy crowds out plain records: what it leaves of the ring is at least half. */
static __always_inline int may_copy(struct scratch *scratch, __u64 now_ns, enum walk_end end)
{
    __u64 second = now_ns / NS_PER_SECOND;
    __u32 limit = 0;

    if (end == WALK_UNKNOWN)
        limit = COPIES_PER_SECOND;
    else if (end == WALK_UNMAPPED)
        limit = UNMAPPED_COPIES_PER_SECOND;
    if (scratch->second != second) {
        scratch->second = second;
        scratch->copies = 0;
    }
    if (scratch->copies >= limit)
        return 0;
    if (bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) + RECORD_BYTES >
        bpf_ringbuf_query(&ring, BPF_RB_RING_SIZE) / 2)
        return 0;
    scratch->copies++;
    return 1;
}

/* Fills in both stacks; the record's length in bytes. An unknown process whose stack is not copied
 * is walked over its frame pointers, better than not at all. */
static __always_inline __u32 capture_stacks(struct bpf_perf_event_data *ctx,
                                            struct scratch *scratch, enum unwind_way way)
{
    struct abi_sample *s = (struct abi_sample *)scratch->record;
    struct unwind_world *w = current_world();
    struct unwound user = {0, WALK_NONE};
    long kernel = capture_kernel(ctx, s);
    __u32 kernel_frames = kernel > 0 ? kernel : 0;
    int copy = 0;

    if (w && !(s->flags & ABI_KERNEL_THREAD))
        user = capture_user(ctx, w, s->pid, way);
    if (w && way != UNWIND_PLAIN && unwind_tables_on) {
        copy = may_copy(scratch, s->time_ns, user.end);
        if (!copy && user.end == WALK_UNKNOWN)
            user = unwind_plain_or(ctx, w, WALK_UNKNOWN);
    }
    if (kernel < 0 || (user.frames == 0 && user.end != WALK_NONE))
        count(ABI_COUNTER_STACK_FAILED);
    return finish_stacks(s, w, kernel_frames, user, copy);
}

/* ---- the programs ---- */

static __always_inline int sample(struct bpf_perf_event_data *ctx, enum unwind_way way)
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
    bytes = capture_stacks(ctx, scratch, way);
    if (bytes > RECORD_BYTES)
        bytes = RECORD_BYTES;
    if (bpf_ringbuf_output(&ring, s, bytes, BPF_RB_NO_WAKEUP) == 0) {
        count(ABI_COUNTER_DELIVERED);
        if (s->flags & ABI_DEFERRED)
            count(ABI_COUNTER_DEFERRED);
    } else {
        count(ABI_COUNTER_RING_FULL);
    }
    /* One more look at the clock a sample, 20 to 50 ns; idle runs are too short to be timed. */
    add(ABI_COUNTER_NS, bpf_ktime_get_ns() - s->time_ns);
    barrier();
    scratch->busy = 0;
    return 0;
}

SEC("perf_event")
int on_cpu(struct bpf_perf_event_data *ctx)
{
    return sample(ctx, UNWIND_FAST);
}

SEC("perf_event")
int on_cpu_compat(struct bpf_perf_event_data *ctx)
{
    return sample(ctx, UNWIND_COMPAT);
}

SEC("perf_event")
int on_cpu_plain(struct bpf_perf_event_data *ctx)
{
    return sample(ctx, UNWIND_PLAIN);
}

/* A child of fork is unknown until the agent has seen it, and its samples until then take a copy of
 * their stack along: some 3 us for each of the few that fall in this short time, where copying the
 * parent's 5 KiB of ranges would slow down every fork of the machine, most of them for an exec. */
static __always_inline void forget_process(void)
{
    struct abi_page_key key = {current_ids().pid, 0};
    struct abi_page *first = bpf_map_lookup_elem(&processes, &key);
    __u32 pages;

    if (!first)
        return;
    pages = first->pages;
    bpf_map_delete_elem(&processes, &key);
    for (__u32 i = 1; i <= ABI_PAGES_MAX && i <= pages; i++) {
        key.page = i;
        bpf_map_delete_elem(&processes, &key);
    }
}

SEC("raw_tp/sched_process_exec")
int on_exec(void *ctx)
{
    (void)ctx;
    forget_process();
    return 0;
}

/* With the last thread the process ends. */
SEC("raw_tp/sched_process_exit")
int on_exit(void *ctx)
{
    struct task_struct *task = (void *)bpf_get_current_task();
    struct signal_struct *signal = BPF_CORE_READ(task, signal);

    (void)ctx;
    if (BPF_CORE_READ(signal, live).counter == 0)
        forget_process();
    return 0;
}

char LICENSE[] SEC("license") = "GPL"; /* bpf_get_stack is for GPL programs only */
