/* abi - what the BPF programs and the agent share; the only header that both sides include.
 * Fixed widths only. Sizes are asserted on both sides. */
#ifndef BPF_ABI_H
#define BPF_ABI_H

#include <linux/types.h>

#define ABI_COMM_BYTES 16
#define ABI_FRAMES_MAX 127 /* kernel.perf_event_max_stack's default, for each of the two parts */

/* One sample, as written to the ring buffer: the header and then kernel_frames + user_frames
 * addresses, innermost first, kernel part first. Only the used length is written. */
struct abi_sample {
    __u64 time_ns; /* CLOCK_MONOTONIC */
    __u64 cgroup; /* cgroup v2 id: the inode of its directory */
    __u32 pid; /* thread group, root pid namespace */
    __u32 tid;
    __u32 cpu;
    __u16 kernel_frames;
    __u16 user_frames;
    __u32 stop; /* enum abi_stop: how the user walk ended */
    __u32 flags; /* ABI_KERNEL_THREAD */
    char comm[ABI_COMM_BYTES]; /* the thread's name at this instant */
    __u64 frames[];
};
_Static_assert(sizeof(struct abi_sample) == 56, "kernel and agent must agree");

#define ABI_KERNEL_THREAD 1u /* no user part to walk */

/* How the walk of the user stack ended. Every sample has one; none is dropped for it. */
#define ABI_STOP_LIST(X)                                 \
    X(0, NONE, "none", "no user stack: a kernel thread") \
    X(1, END, "end", "reached the outermost frame")      \
    X(2, MAX, "truncated", "deeper than the limit")      \
    X(3, UNREADABLE, "unreadable", "the stack could not be read")

enum abi_stop {
#define X(number, NAME, text, help) ABI_STOP_##NAME = (number),
    ABI_STOP_LIST(X)
#undef X
        ABI_STOPS
};

/* Per-CPU counters: each way that a sample is taken, left out or lost. */
#define ABI_COUNTER_LIST(X)                                           \
    X(0, RUNS, "the program ran")                                     \
    X(1, DELIVERED, "a record was written")                           \
    X(2, IDLE, "the CPU was idle")                                    \
    X(3, RING_FULL, "lost: no room in the ring buffer")               \
    X(4, SCRATCH_BUSY, "lost: the per-CPU scratch record was in use") \
    X(5, STACK_FAILED, "delivered without frames: bpf_get_stack failed")

enum abi_counter {
#define X(number, NAME, help) ABI_COUNTER_##NAME = (number),
    ABI_COUNTER_LIST(X)
#undef X
        ABI_COUNTERS
};

#endif
