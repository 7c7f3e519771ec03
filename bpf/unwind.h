/* unwind - the user part of the current task's stack: how many frames, and why it ended there.
 * Three ways, of which the agent chooses one when it loads a program: by the unwind tables with
 * bpf_loop (fast), the same without (compat: kernels before 5.17), or by the kernel's own walk over
 * frame pointers (plain), which the other two use as well until there are tables.
 * The rules of a walk are unwind_core.h's; here are the kernel's maps and registers. */
#ifndef BPF_UNWIND_H
#define BPF_UNWIND_H

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"
#include "bpf/kernel.h"
#include "bpf/unwind_core.h"

enum unwind_way {
    UNWIND_FAST,
    UNWIND_COMPAT,
    UNWIND_PLAIN,
};

/* 10 MiB; preallocated, as kernels before 6.1 want it of a map that a perf_event program uses. */
#define UNWIND_PAGES_MAX 2048

#define USER_MODE_RING 3 /* the low bits of cs on x86 */
#define USER32_CS 0x23 /* arch/x86/include/asm/segment.h: __USER32_CS */
#define KERNEL_STACK_BYTES \
    16384 /* THREAD_SIZE; with KASAN more, and then registers make no sense */

/* Whoever publishes processes sets it; until then every process would be unknown. */
__u32 unwind_tables_on;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, UNWIND_PAGES_MAX);
    __type(key, struct abi_page_key);
    __type(value, struct abi_page);
} processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, ABI_SHARDS_MAX);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
    __array(
        values, struct {
            __uint(type, BPF_MAP_TYPE_ARRAY);
            __uint(max_entries, 1);
            __uint(key_size, sizeof(__u32));
            __uint(value_size, sizeof(struct abi_shard));
            __uint(map_flags, BPF_F_MMAPABLE);
        });
} shards SEC(".maps");

struct unwind_world { /* one CPU's walk */
    struct unwind_state state;
    struct pt_regs registers;
    __u64 frames[ABI_FRAMES_MAX + 1]; /* a power of two */
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct unwind_world);
} worlds SEC(".maps");

static __always_inline struct unwind_world *current_world(void)
{
    __u32 zero = 0;

    return bpf_map_lookup_elem(&worlds, &zero);
}

/* ---- the core's hooks ----
 * Searches are global functions: the verifier looks at such a one once, not at every path to it.
 * They take numbers alone, since kernels before 5.13 know no pointers there. */

__attribute__((noinline)) int unwind_locate_range(__u64 address)
{
    struct unwind_world *w = current_world();
    struct abi_page_key key = {0, 0};
    struct abi_page *page;

    if (!w)
        return WALK_UNKNOWN;
    key.pid = w->state.pid;
    page = bpf_map_lookup_elem(&processes, &key);
    if (page && page->pages > 0) {
        key.page = unwind_search_starts(page, address);
        page = bpf_map_lookup_elem(&processes, &key);
    }
    return page ? unwind_search_ranges(page, &w->state, address) : WALK_UNKNOWN;
}

__attribute__((noinline)) __u64 unwind_row_at(__u32 shard, __u32 first, __u32 last, __u32 pc)
{
    void *inner = bpf_map_lookup_elem(&shards, &shard);
    __u32 zero = 0;
    struct abi_shard *rows;

    if (!inner)
        return 0;
    rows = bpf_map_lookup_elem(inner, &zero);
    return rows ? unwind_search_rows(rows, first, last, pc) : 0;
}

UNWIND_INLINE int unwind_read(struct unwind_world *w, struct unwind_state *s, __u64 address,
                              __u32 bytes)
{
    (void)w;
    UNWIND_HIDE(bytes);
    if (bytes > sizeof(s->words))
        bytes = sizeof(s->words);
    return bpf_probe_read_user(s->words, bytes, (void *)address) != 0;
}

UNWIND_INLINE int unwind_locate(struct unwind_world *w, struct unwind_state *s, __u64 address)
{
    (void)w;
    (void)s;
    return unwind_locate_range(address);
}

UNWIND_INLINE __u64 unwind_find_row(struct unwind_world *w, const struct abi_range *range, __u32 pc)
{
    (void)w;
    return unwind_row_at(range->shard, range->first, range->last, pc);
}

UNWIND_INLINE void unwind_put(struct unwind_world *w, struct unwind_state *s, __u64 address)
{
    w->frames[s->frames & ABI_FRAMES_MAX] = address;
}

/* ---- the ways ---- */

static long on_frame(__u32 i, struct unwind_world **w)
{
    (void)i;
    return unwind_step(*w, &(*w)->state);
}

__attribute__((noinline)) int unwind_one_frame(void)
{
    struct unwind_world *w = current_world();

    return w ? unwind_step(w, &w->state) : UNWIND_DONE;
}

/* From w->registers; the frames lie in w->frames. */
static __always_inline struct unwound unwind_by_tables(struct unwind_world *w, __u32 pid,
                                                       enum unwind_way way)
{
    const struct pt_regs *r = &w->registers;
    const struct abi_registers at = {r->rip, r->rsp, r->rbp, r->r10};

    unwind_begin(&w->state, pid, &at);
    if (way == UNWIND_FAST)
        bpf_loop(ABI_FRAMES_MAX, on_frame, &w, 0);
    else
        for (int i = 0; i < ABI_FRAMES_MAX; i++)
            if (unwind_one_frame() == UNWIND_DONE)
                break;
    return (struct unwound){w->state.frames, w->state.end};
}

/* The helper does not say why it stopped. Where code keeps no frame pointers, the last thing it
 * read is often no address at all and is dropped; zero, though, is what start code puts at the
 * outer end. A lone frame means that the frame pointer led nowhere, since even main has a caller.
 */
static __always_inline struct unwound unwind_plain(void *ctx, struct unwind_world *w)
{
    long bytes = bpf_get_stack(ctx, w->frames, ABI_FRAMES_MAX * sizeof(__u64), BPF_F_USER_STACK);
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
    outermost = w->frames[last];
    if (!unwind_could_be_code(outermost))
        walk.frames = last;
    if (walk.frames > 1 && (unwind_could_be_code(outermost) || outermost == 0))
        walk.end = WALK_ROOT;
    return walk;
}

/* The plain walk where tables are no help: believed if it came through. */
static __always_inline struct unwound unwind_plain_or(void *ctx, struct unwind_world *w,
                                                      enum walk_end end)
{
    struct unwound walk = unwind_plain(ctx, w);

    if (walk.end == WALK_UNREADABLE)
        walk.end = end;
    return walk;
}

/* ---- where a walk starts ---- */

/* What the task had in its registers when it last left user mode, to w->registers. */
static __always_inline long read_saved_registers(struct unwind_world *w, enum unwind_way way)
{
    if (way == UNWIND_FAST) {
        struct task_struct *task = (void *)bpf_get_current_task_btf();

        return bpf_probe_read_kernel(&w->registers, sizeof(w->registers),
                                     (void *)bpf_task_pt_regs(task));
    } else {
        struct task_struct *task = (void *)bpf_get_current_task();
        __u64 top = (__u64)BPF_CORE_READ(task, stack) + KERNEL_STACK_BYTES;

        return bpf_probe_read_kernel(&w->registers, sizeof(w->registers),
                                     (void *)(top - sizeof(w->registers)));
    }
}

static __always_inline int came_from_user_mode(const struct pt_regs *r)
{
    return (r->cs & USER_MODE_RING) == USER_MODE_RING;
}

static __always_inline int runs_32_bit_code(const struct pt_regs *r)
{
    return (r->cs & 0xffff) == USER32_CS;
}

#endif
