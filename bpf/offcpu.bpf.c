/* offcpu - where threads wait, and for how long. A record for each wait when it begins, with both
 * stacks of the thread that leaves its CPU, and one when it ends. The stack can only be taken at
 * the beginning, when nobody knows how long the wait will be; so each CPU has a quota of stacks a
 * second. Where more threads leave than that, chance decides, and the record says how probable it
 * was, so that what was taken can stand for the rest. Threads that left a CPU just before draw
 * against one another and those that seldom do among themselves: a long wait is no short one's
 * rival. Kernel threads and waits that began before the program ran are left out. */
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi.h"
#include "bpf/kernel.h"
#include "bpf/record.h"
#include "bpf/unwind.h"

/* Stacks take some 3 us each: about 0.3 % of a CPU for each of the two quotas. */
#define STACKS_PER_PERIOD 100
#define PERIOD_NS 100000000ull
#define SELDOM_NS 10000000ull /* between two leaves of a thread that seldom leaves */

#define TRACING_FRAMES 3 /* of the program's own way here; left out of kernel stacks */

#define TASK_UNINTERRUPTIBLE 0x2u /* include/linux/sched.h */
#define TASK_ENDED 0xb0u /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */

const volatile __u64 scope_cgroup; /* id of the v2 directory; 0: every process */
const volatile __u32 scope_level; /* its depth */

__u32 run_number; /* of this run of the program: what an earlier one left is stale */

enum telling {
    TELLING_NOTHING, /* the draw went against it */
    TELLING_BEGUN, /* its beginning was told, its end will be */
    TELLING_LOST, /* its stack was due and could not be told */
};

struct thread {
    __u64 left_ns; /* when it last left a CPU */
    __u64 woken_ns; /* since then; 0: not yet, or it never slept */
    __u32 run_number;
    __u32 chance;
    __u8 waits, telling, kind, unused;
    __u32 unused2;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

struct quota { /* one for threads that seldom leave, one for the others */
    __u32 seen; /* leaves in this period */
    __u32 taken;
    __u32 chance; /* by what was seen in the period before */
    __u32 unused;
};

struct wait_scratch {
    __u64 period; /* the quotas' */
    struct quota quotas[2];
    __u64 counts[ABI_WAIT_COUNTERS];
    struct abi_wait wait; /* and right behind it */
    __u64 sample[RECORD_BYTES / sizeof(__u64)]; /* a struct abi_sample */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct wait_scratch);
} wait_scratches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 8 << 20); /* the agent sets its own size before it loads the program */
} waits SEC(".maps");

static __always_inline struct wait_scratch *current_scratch(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&wait_scratches, &zero);
}

/* ---- who may be told of ---- */

static __always_inline int within_scope(void)
{
    return scope_cgroup == 0 || bpf_get_current_ancestor_cgroup_id(scope_level) == scope_cgroup;
}

static __always_inline __u32 state_of(struct task_struct *task)
{
    struct task_struct___before_5_14 *old = (void *)task;

    if (bpf_core_field_exists(task->__state))
        return BPF_CORE_READ(task, __state);
    return (__u32)BPF_CORE_READ(old, state);
}

/* One that is put off its CPU while it was about to sleep can still run. */
static __always_inline enum abi_wait_kind kind_of(bool preempted, __u32 state)
{
    if (preempted || state == 0)
        return ABI_WAIT_RUNNABLE;
    return state & TASK_UNINTERRUPTIBLE ? ABI_WAIT_DISK : ABI_WAIT_BLOCKED;
}

/* ---- whose stack is taken ---- */

/* What was seen longer ago says nothing of now. */
static __always_inline void begin_period(struct quota *q, bool follows)
{
    q->chance = ABI_CHANCE_ONE;
    if (follows && q->seen > STACKS_PER_PERIOD)
        q->chance = STACKS_PER_PERIOD * ABI_CHANCE_ONE / q->seen;
    if (q->chance == 0)
        q->chance = 1;
    q->seen = 0;
    q->taken = 0;
}

/* In a flood the chance is halved each time that half of the quota is used up. What it depends on
 * lies in the past, so the chance is what it says. */
static __always_inline enum telling draw(struct wait_scratch *w, struct thread *t, __u64 now)
{
    __u32 often = now - t->left_ns < SELDOM_NS;
    struct quota *q = &w->quotas[often & 1];
    __u64 period = now / PERIOD_NS;

    if (w->period != period) {
        begin_period(&w->quotas[0], period == w->period + 1);
        begin_period(&w->quotas[1], period == w->period + 1);
        w->period = period;
    }
    q->seen++;
    t->chance = q->chance;
    if ((bpf_get_prandom_u32() & (ABI_CHANCE_ONE - 1)) >= q->chance) {
        w->counts[ABI_WAIT_COUNTER_PASSED_OVER]++;
        return TELLING_NOTHING;
    }
    q->taken++;
    if (q->taken % (STACKS_PER_PERIOD / 2) == 0 && q->chance > 1)
        q->chance /= 2;
    return TELLING_BEGUN;
}

/* ---- stacks ---- */

static __always_inline struct unwound capture_user(void *ctx, struct unwind_world *w, __u32 pid,
                                                   enum unwind_way way)
{
    if (way == UNWIND_PLAIN || !unwind_tables_on)
        return unwind_plain(ctx, w);
    if (read_saved_registers(w, way) != 0 || !came_from_user_mode(&w->registers))
        return (struct unwound){0, WALK_NONE};
    return walk_registers(ctx, w, pid, way);
}

/* The quota bounds how many; no copy crowds out plain records. */
static __always_inline int may_copy(enum walk_end end)
{
    return (end == WALK_UNKNOWN || end == WALK_UNMAPPED) &&
           bpf_ringbuf_query(&waits, BPF_RB_AVAIL_DATA) + RECORD_BYTES <=
               bpf_ringbuf_query(&waits, BPF_RB_RING_SIZE) / 2;
}

/* Fills in both stacks; the sample's length in bytes. An unknown process whose stack is not copied
 * is walked over its frame pointers, better than not at all. */
static __always_inline __u32 capture_stacks(void *ctx, struct abi_sample *s, enum unwind_way way)
{
    struct unwind_world *w = current_world();
    struct unwound user = {0, WALK_NONE};
    long kernel_bytes = bpf_get_stack(ctx, s->frames, FRAMES_BYTES, TRACING_FRAMES);
    __u32 kernel_frames = kernel_bytes > 0 ? (__u32)kernel_bytes / sizeof(__u64) : 0;
    int copy = 0;

    if (w)
        user = capture_user(ctx, w, s->pid, way);
    if (w && way != UNWIND_PLAIN && unwind_tables_on) {
        copy = may_copy(user.end);
        if (!copy && user.end == WALK_UNKNOWN)
            user = unwind_plain_or(ctx, w, WALK_UNKNOWN);
    }
    return finish_stacks(s, w, kernel_frames, user, copy);
}

static __always_inline enum telling tell_begin(void *ctx, struct wait_scratch *w, struct thread *t,
                                               __u32 tid, enum unwind_way way)
{
    struct abi_sample *s = (struct abi_sample *)w->sample;
    __u32 bytes;

    describe_task(s);
    bytes = capture_stacks(ctx, s, way);
    if (bytes > RECORD_BYTES)
        bytes = RECORD_BYTES;
    w->wait =
        (struct abi_wait){.begin_ns = t->left_ns, .tid = tid, .kind = t->kind, .chance = t->chance};
    if (bpf_ringbuf_output(&waits, &w->wait, sizeof(w->wait) + bytes, BPF_RB_NO_WAKEUP) != 0) {
        w->counts[ABI_WAIT_COUNTER_NOT_TOLD]++;
        return TELLING_LOST;
    }
    w->counts[ABI_WAIT_COUNTER_TAKEN]++;
    return TELLING_BEGUN;
}

/* ---- a wait's beginning and end ---- */

static __always_inline void leave(void *ctx, struct wait_scratch *w, struct task_struct *prev,
                                  bool preempted, __u64 now, enum unwind_way way)
{
    __u32 state = state_of(prev);
    struct thread *t;

    if (prev->pid == 0 || prev->flags & PF_KTHREAD || state & TASK_ENDED || !within_scope())
        return;
    t = bpf_task_storage_get(&threads, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!t)
        return;
    w->counts[ABI_WAIT_COUNTER_WAITS]++;
    t->telling = draw(w, t, now);
    t->kind = kind_of(preempted, state);
    t->left_ns = now;
    t->woken_ns = 0;
    t->run_number = run_number;
    t->waits = 1;
    if (t->telling == TELLING_BEGUN)
        t->telling = tell_begin(ctx, w, t, prev->pid, way);
}

static __always_inline void arrive(struct wait_scratch *w, struct task_struct *next, __u64 now)
{
    struct thread *t = bpf_task_storage_get(&threads, next, 0, 0);

    if (!t || !t->waits)
        return;
    t->waits = 0;
    if (t->run_number != run_number || t->telling == TELLING_NOTHING)
        return;
    if (t->telling == TELLING_LOST) {
        w->counts[ABI_WAIT_COUNTER_LOST_NS] +=
            (now - t->left_ns) * (ABI_CHANCE_ONE / t->chance); /* rounded, lest it overflow */
        return;
    }
    w->wait = (struct abi_wait){
        .begin_ns = t->left_ns, .woken_ns = t->woken_ns, .end_ns = now, .tid = next->pid};
    if (bpf_ringbuf_output(&waits, &w->wait, sizeof(w->wait), BPF_RB_NO_WAKEUP) != 0)
        w->counts[ABI_WAIT_COUNTER_ENDS_LOST]++;
}

/* The thread that leaves is still the current one. */
static __always_inline int on_switch_by(void *ctx, bool preempted, struct task_struct *prev,
                                        struct task_struct *next, enum unwind_way way)
{
    struct wait_scratch *w = current_scratch();
    __u64 now = bpf_ktime_get_ns();

    if (!w)
        return 0;
    arrive(w, next, now);
    leave(ctx, w, prev, preempted, now, way);
    return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *prev, struct task_struct *next)
{
    return on_switch_by(ctx, preempted, prev, next, UNWIND_FAST);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_compat, bool preempted, struct task_struct *prev, struct task_struct *next)
{
    return on_switch_by(ctx, preempted, prev, next, UNWIND_COMPAT);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch_plain, bool preempted, struct task_struct *prev, struct task_struct *next)
{
    return on_switch_by(ctx, preempted, prev, next, UNWIND_PLAIN);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
    struct thread *t = bpf_task_storage_get(&threads, task, 0, 0);

    (void)ctx;
    if (t && t->waits && t->woken_ns == 0 && t->kind != ABI_WAIT_RUNNABLE)
        t->woken_ns = bpf_ktime_get_ns();
    return 0;
}

char LICENSE[] SEC("license") = "GPL"; /* bpf_get_stack is for GPL programs only */
