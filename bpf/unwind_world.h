/* unwind_world - the walk over a user stack, in user space: the agent's over copies of stacks, the
 * tests' over made-up ones. Fill in a world and call unwind_world_walk. */
#ifndef BPF_UNWIND_WORLD_H
#define BPF_UNWIND_WORLD_H

#include <stddef.h>

#include "bpf/unwind_core.h"

/* Where a walk finds what the kernel's finds in its maps and in the process's memory. Callbacks get
 * `arg`; what they return is read only until the walk's end. */
struct unwind_world {
    /* Copies `bytes` (at most 64) of the stack's memory; 0: done, else not readable. */
    int (*read)(void *arg, __u64 address, void *to, __u32 bytes);
    /* The process's page; NULL: there is none. */
    const struct abi_page *(*page)(void *arg, __u32 pid, __u32 page);
    const struct abi_shard *(*shard)(void *arg, __u32 shard); /* NULL: there is none */
    void *arg;
    __u64 *frames; /* the walk's own: set by unwind_world_walk */
};

/* ---- the core's hooks ---- */

static inline int unwind_read(struct unwind_world *w, struct unwind_state *s, __u64 address,
                              __u32 bytes)
{
    return w->read(w->arg, address, s->words, bytes);
}

static inline int unwind_locate(struct unwind_world *w, struct unwind_state *s, __u64 address)
{
    const struct abi_page *page = w->page(w->arg, s->pid, 0);

    if (page != NULL && page->pages > 0)
        page = w->page(w->arg, s->pid, unwind_search_starts(page, address));
    return page == NULL ? WALK_UNKNOWN : unwind_search_ranges(page, s, address);
}

static inline __u64 unwind_find_row(struct unwind_world *w, const struct abi_range *range, __u32 pc)
{
    const struct abi_shard *shard = w->shard(w->arg, range->shard);

    return shard == NULL ? 0 : unwind_search_rows(shard, range->first, range->last, pc);
}

static inline void unwind_put(struct unwind_world *w, struct unwind_state *s, __u64 address)
{
    w->frames[s->frames] = address;
}

/* Writes up to ABI_FRAMES_MAX addresses, innermost first. A process without a page 0 gives one
 * frame and WALK_UNKNOWN. */
static inline struct unwound unwind_world_walk(struct unwind_world *w, __u32 pid,
                                               const struct abi_registers *at,
                                               __u64 frames[ABI_FRAMES_MAX])
{
    struct unwind_state s;

    w->frames = frames;
    unwind_begin(&s, pid, at);
    while (s.frames < ABI_FRAMES_MAX && unwind_step(w, &s) == UNWIND_GO_ON)
        continue;
    return (struct unwound){s.frames, s.end};
}

#endif
