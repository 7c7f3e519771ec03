/* abi - what the BPF programs and the agent share; the only header that both sides include.
 * Fixed widths only. Sizes are asserted on both sides. */
#ifndef BPF_ABI_H
#define BPF_ABI_H

#include <linux/types.h>

#include "common/walk.h"

#define ABI_COMM_BYTES 16
#define ABI_FRAMES_MAX 127 /* kernel.perf_event_max_stack's default, for each of the two parts */

/* ---- samples ---- */

/* One sample, as written to the ring buffer: the header, kernel_frames + user_frames addresses,
 * innermost first, kernel part first, and with ABI_DEFERRED a struct abi_raw_stack. Only the used
 * length is written. */
struct abi_sample {
    __u64 time_ns; /* CLOCK_MONOTONIC */
    __u64 cgroup; /* cgroup v2 id: the inode of its directory */
    __u64 cgroup_v1; /* the same of the v1 memory hierarchy; 0: there is none */
    __u32 pid; /* thread group, in the agent's pid namespace; 0: not visible from there */
    __u32 tid;
    __u32 cpu;
    __u16 kernel_frames;
    __u16 user_frames;
    __u32 end; /* enum walk_end: how the user walk ended */
    __u32 flags; /* ABI_KERNEL_THREAD ... */
    char comm[ABI_COMM_BYTES]; /* the thread's name at this instant */
    __u64 frames[];
};
_Static_assert(sizeof(struct abi_sample) == 64, "kernel and agent must agree");

#define ABI_KERNEL_THREAD 1u /* no user part to walk */
#define ABI_DEFERRED 2u /* the agent walks the user part, from the copy at the record's end */

/* What a walk starts from. */
struct abi_registers {
    __u64 ip, sp, bp, r10;
};

/* The user stack of a process whose mappings the kernel side does not know yet: it has just begun.
 * By the time that the agent takes the sample in hand it knows them and walks this copy. */
#define ABI_RAW_STACK_MAX (28u << 10) /* with the rest below 32 KiB, a per-CPU value's limit */

struct abi_raw_stack {
    struct abi_registers registers;
    __u32 bytes; /* copied from registers.sp upward */
    __u32 unused;
    __u8 stack[];
};
_Static_assert(sizeof(struct abi_raw_stack) == 40, "kernel and agent must agree");

/* ---- unwind tables ---- */

/* One row: the rules for the code from `pc` up to the next row's. A table's rows ascend by pc; pcs
 * count from the table's base address in its file. CFA is the stack pointer of the caller; its
 * return address lies right below. */
struct abi_row {
    __u32 pc;
    __s16 cfa; /* bytes, or units of 8 bytes with the FAR kinds */
    __u8 kind; /* enum abi_row_kind */
    __s8 rbp; /* the caller's rbp: 0: unchanged; ABI_RBP_...; else saved at CFA + 8 x this */
};
_Static_assert(sizeof(struct abi_row) == 8, "kernel and agent must agree");

#define ABI_RBP_AT_RBP 127 /* saved where rbp points: frames with a realigned stack */
#define ABI_RBP_LOST (-128) /* a rule that a row cannot hold; a CFA by rbp then ends the walk */

/* number, NAME, rule */
#define ABI_ROW_LIST(X)                                                               \
    X(0, GAP, "no rule: past the end of a function's; go by the frame pointer")       \
    X(1, RSP, "CFA = rsp + cfa")                                                      \
    X(2, RBP, "CFA = rbp + cfa")                                                      \
    X(3, RSP_FAR, "CFA = rsp + 8 x cfa")                                              \
    X(4, RBP_FAR, "CFA = rbp + 8 x cfa")                                              \
    X(5, PLT, "CFA = rsp + 8 + 8 x ((rip & 15) >= cfa)")                              \
    X(6, SIGNAL, "rbp, rsp and rip lie in the signal frame at rsp + 120, 160, 168")   \
    X(7, RSP_DEREF, "CFA = *(rsp + cfa)")                                             \
    X(8, RBP_DEREF, "CFA = *(rbp + cfa)")                                             \
    X(9, RSP_DEREF8, "CFA = *(rsp + cfa) + 8: hand-written assembly")                 \
    X(10, RBP_DEREF8, "CFA = *(rbp + cfa) + 8")                                       \
    X(11, R10, "CFA = r10 + cfa: while the stack is being realigned; innermost only") \
    X(12, ROOT, "the outermost frame: it has no return address")                      \
    X(13, UNSUPPORTED, "a rule that a row cannot hold")

enum abi_row_kind {
#define X(number, NAME, rule) ABI_ROW_##NAME = (number),
    ABI_ROW_LIST(X)
#undef X
        ABI_ROW_KINDS
};

#define ABI_SHARD_ROWS 65536u /* rows of one shard, 512 KiB; a large table takes several */
#define ABI_SHARDS_MAX 1024u /* the agent's own bound on memory is lower */

struct abi_shard {
    struct abi_row rows[ABI_SHARD_ROWS];
};

/* ---- processes ---- */

/* Executable memory of a process whose return addresses are found by one rule. A mapping of a
 * table that takes several shards has a range for each. */
struct abi_range {
    __u64 start, end; /* addresses in the process */
    __u64 base; /* the pc of a row is address - base */
    __u32 shard;
    __u32 first, last; /* rows [first, last) of the shard may hold the address */
    __u32 rule; /* enum abi_range_rule */
};
_Static_assert(sizeof(struct abi_range) == 40, "kernel and agent must agree");

/* number, NAME, rule */
#define ABI_RANGE_LIST(X)                                                       \
    X(0, FRAME_POINTER, "no table: JIT code, files without unwind information") \
    X(1, ROWS, "by the shard's rows")                                           \
    X(2, TRAMPOLINE, "CPython's perf trampolines: CFA = rsp + 16, rbp unchanged")

enum abi_range_rule {
#define X(number, NAME, rule) ABI_RANGE_##NAME = (number),
    ABI_RANGE_LIST(X)
#undef X
        ABI_RANGE_RULES
};

/* A process's ranges, sorted by address, in pages. Page 0 is the process: a process of one page
 * has its ranges there; one of more has the first address of each further page in `starts`. */
#define ABI_PAGE_RANGES 128u
#define ABI_PAGES_MAX 128u /* so 16,384 ranges at most */

struct abi_page_key {
    __u32 pid; /* thread group, in the agent's pid namespace */
    __u32 page;
};

struct abi_page {
    __u32 ranges; /* in this page */
    __u32 pages; /* page 0: further pages; 0: this is the only one */
    union {
        struct abi_range range[ABI_PAGE_RANGES];
        __u64 starts[ABI_PAGES_MAX]; /* page 0 of several: starts[i] belongs to page i + 1 */
    };
};
_Static_assert(sizeof(struct abi_page) == 8 + 128 * 40, "kernel and agent must agree");

/* ---- waits ---- */

/* number, NAME, text, what a thread does that is off the CPU */
#define ABI_WAIT_LIST(X)                                                                         \
    X(0, NONE, "", "it is on the CPU")                                                           \
    X(1, BLOCKED, "[blocked]", "it sleeps until something happens or a signal")                  \
    X(2, DISK, "[blocked, uninterruptible]", "it sleeps, as for a disk or a lock of the kernel") \
    X(3, RUNNABLE, "[waiting to run]", "it could run and has no CPU")

enum abi_wait_kind {
#define X(number, NAME, text, help) ABI_WAIT_##NAME = (number),
    ABI_WAIT_LIST(X)
#undef X
        ABI_WAITS
};

/* A record of the ring of waits. One that begins is followed by a struct abi_sample with what
 * follows that; one that has ended stands alone, and tells of a wait whose beginning was told. */
struct abi_wait {
    __u64 begin_ns; /* CLOCK_MONOTONIC, as all of these */
    __u64 woken_ns; /* ended: when it became RUNNABLE; 0: it was so from the beginning */
    __u64 end_ns; /* 0: it begins */
    __u32 tid; /* in the first pid namespace: the thread's name between the two records */
    __u32 kind; /* begins: enum abi_wait_kind */
    __u32 chance; /* begins: how probable it was that its stack was taken, of ABI_CHANCE_ONE */
    __u32 unused;
};
_Static_assert(sizeof(struct abi_wait) == 40, "kernel and agent must agree");

#define ABI_CHANCE_ONE 65536u

#define ABI_WAIT_COUNTER_LIST(X)                                                    \
    X(0, WAITS, "a thread within the scope left its CPU")                           \
    X(1, TAKEN, "its stack was taken and told")                                     \
    X(2, PASSED_OVER, "the draw went against it; others stand for it")              \
    X(3, NOT_TOLD, "lost: its stack was due, and the ring full")                    \
    X(4, LOST_NS, "lost: time that the waits of NOT_TOLD stand for, once they end") \
    X(5, ENDS_LOST, "an end found no room in the ring")

enum abi_wait_counter {
#define X(number, NAME, help) ABI_WAIT_COUNTER_##NAME = (number),
    ABI_WAIT_COUNTER_LIST(X)
#undef X
        ABI_WAIT_COUNTERS
};

/* ---- counters ---- */

/* Per-CPU counters: each way that a sample is taken, left out or lost. */
#define ABI_COUNTER_LIST(X)                                            \
    X(0, RUNS, "the program ran")                                      \
    X(1, DELIVERED, "a record was written")                            \
    X(2, IDLE, "the CPU was idle")                                     \
    X(3, RING_FULL, "lost: no room in the ring buffer")                \
    X(4, SCRATCH_BUSY, "lost: the per-CPU scratch record was in use")  \
    X(5, STACK_FAILED, "delivered without frames: no stack to be had") \
    X(6, DEFERRED, "delivered with a copy of the stack")               \
    X(7, NS, "time that samples took: not a count of them")

enum abi_counter {
#define X(number, NAME, help) ABI_COUNTER_##NAME = (number),
    ABI_COUNTER_LIST(X)
#undef X
        ABI_COUNTERS
};

#endif
