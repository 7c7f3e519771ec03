/* unwind_core - from the registers of a user stack's innermost frame to its outermost one.
 * Knows the rules and nothing of where it runs: the kernel (unwind.h) and user space
 * (unwind_world.h) each include it and define the four hooks declared below, so tests, fuzzing and
 * the agent's own walks run the very code that the programs run. Trusts neither stack nor tables:
 * whatever they hold, a walk reads within bounds and ends.
 *
 * Written for the verifier as well: state lies in map memory, where a variable index is allowed;
 * searches have a fixed number of steps over sizes of a power of two; an index is masked behind
 * UNWIND_HIDE, or the compiler proves the mask needless and drops what the verifier needs. */
#ifndef BPF_UNWIND_CORE_H
#define BPF_UNWIND_CORE_H

#include "bpf/abi.h"

#define UNWIND_INLINE static inline __attribute__((always_inline))
#define UNWIND_HIDE(x) __asm__ volatile("" : "+r"(x))

/* Code lies in between, whether page tables have four levels or five. */
#define UNWIND_CODE_START 0x1000ull
#define UNWIND_CODE_END 0x800000000000ull

#define UNWIND_WORDS 8u /* of the stack, read at once */

/* What the signal trampoline's frame holds: struct rt_sigframe of arch/x86, from its sp. */
#define UNWIND_SIGNAL_R10 56
#define UNWIND_SIGNAL_BP 120
#define UNWIND_SIGNAL_WORDS 7 /* rbp, rbx, rdx, rax, rcx, rsp, rip */

struct unwind_state {
    struct abi_registers at; /* of the frame in hand */
    struct abi_range range; /* the one found last: most frames' callers lie in the same */
    __u64 words[UNWIND_WORDS]; /* read from the stack */
    __u32 pid; /* whose pages to look up */
    __u32 frames; /* put so far */
    __u32 end; /* enum walk_end, once a step says that it ended */
    __u8 exact; /* at.ip is where the code stands and at.r10 known; else ip is a return address */
    __u8 bp_lost; /* at.bp is not the frame's */
    __u16 unused;
};

struct unwound { /* a walk's outcome */
    __u32 frames;
    __u32 end; /* enum walk_end */
};

union unwind_row { /* a global function of a BPF program returns no struct */
    struct abi_row row;
    __u64 word;
};

/* ---- hooks, for whoever includes this to define ---- */

struct unwind_world;

/* Copies `bytes`, at most 8 x UNWIND_WORDS, to s->words; 0: done. */
static int unwind_read(struct unwind_world *w, struct unwind_state *s, __u64 address, __u32 bytes);
/* unwind_search_pages, unwind_search_rows with what the world has. */
static int unwind_locate(struct unwind_world *w, struct unwind_state *s, __u64 address);
static __u64 unwind_find_row(struct unwind_world *w, const struct abi_range *range, __u32 pc);
/* Keeps the address of frame s->frames, which is below ABI_FRAMES_MAX. */
static void unwind_put(struct unwind_world *w, struct unwind_state *s, __u64 address);

/* ---- searches ---- */

/* The row in force at `pc`, as a union unwind_row; a GAP where there is none. */
UNWIND_INLINE __u64 unwind_search_rows(const struct abi_shard *shard, __u32 first, __u32 last,
                                       __u32 pc)
{
    union unwind_row found = {.word = 0};
    __u32 at = first;

    if (first >= last || last > ABI_SHARD_ROWS)
        return 0;
    for (__u32 step = ABI_SHARD_ROWS / 2; step > 0; step /= 2) {
        __u32 i = at + step;

        if (i >= last)
            continue;
        UNWIND_HIDE(i);
        i &= ABI_SHARD_ROWS - 1;
        if (shard->rows[i].pc <= pc)
            at = i;
    }
    UNWIND_HIDE(at);
    at &= ABI_SHARD_ROWS - 1;
    found.row = shard->rows[at];
    return found.row.pc <= pc ? found.word : 0;
}

/* The further page that may hold the address: its number. */
UNWIND_INLINE __u32 unwind_search_starts(const struct abi_page *page, __u64 address)
{
    __u32 at = 0;

    for (__u32 step = ABI_PAGES_MAX / 2; step > 0; step /= 2) {
        __u32 i = at + step;

        if (i >= page->pages)
            continue;
        UNWIND_HIDE(i);
        i &= ABI_PAGES_MAX - 1;
        if (page->starts[i] <= address)
            at = i;
    }
    return at + 1;
}

/* The range that holds the address goes to s->range. WALK_NONE: found; else WALK_UNMAPPED. */
UNWIND_INLINE int unwind_search_ranges(const struct abi_page *page, struct unwind_state *s,
                                       __u64 address)
{
    __u32 at = 0;

    if (page->ranges == 0)
        return WALK_UNMAPPED;
    for (__u32 step = ABI_PAGE_RANGES / 2; step > 0; step /= 2) {
        __u32 i = at + step;

        if (i >= page->ranges)
            continue;
        UNWIND_HIDE(i);
        i &= ABI_PAGE_RANGES - 1;
        if (page->range[i].start <= address)
            at = i;
    }
    UNWIND_HIDE(at);
    at &= ABI_PAGE_RANGES - 1;
    if (address < page->range[at].start || address >= page->range[at].end)
        return WALK_UNMAPPED;
    s->range = page->range[at];
    return WALK_NONE;
}

/* ---- from a frame to its caller's ---- */

/* A step's answers. */
#define UNWIND_GO_ON 0
#define UNWIND_DONE 1

UNWIND_INLINE int unwind_stop(struct unwind_state *s, enum walk_end end)
{
    s->end = end;
    return UNWIND_DONE;
}

UNWIND_INLINE int unwind_could_be_code(__u64 address)
{
    return address >= UNWIND_CODE_START && address < UNWIND_CODE_END;
}

/* Zero is what start code puts at the outer end. */
UNWIND_INLINE int unwind_move_to(struct unwind_state *s, __u64 ip, __u64 sp)
{
    if (ip == 0)
        return unwind_stop(s, WALK_ROOT);
    if (!unwind_could_be_code(ip))
        return unwind_stop(s, WALK_UNMAPPED);
    s->at.ip = ip;
    s->at.sp = sp;
    s->exact = 0;
    return UNWIND_GO_ON;
}

/* The register need not be a frame pointer. If zero it is the outermost frame's, except in the
 * innermost: even main has a caller. */
UNWIND_INLINE int unwind_by_frame_pointer(struct unwind_world *w, struct unwind_state *s)
{
    __u64 bp = s->at.bp;

    if (bp == 0 && !s->bp_lost && s->frames > 1)
        return unwind_stop(s, WALK_ROOT);
    if (s->bp_lost || bp < s->at.sp || bp % 8 != 0)
        return unwind_stop(s, WALK_LOST);
    if (unwind_read(w, s, bp, 16) != 0)
        return unwind_stop(s, WALK_UNREADABLE);
    s->at.bp = s->words[0];
    return unwind_move_to(s, s->words[1], bp + 16);
}

/* The interrupted code's registers, as the kernel saved them: they may be on another stack. */
UNWIND_INLINE int unwind_by_signal_frame(struct unwind_world *w, struct unwind_state *s)
{
    __u64 sp = s->at.sp;

    if (unwind_read(w, s, sp + UNWIND_SIGNAL_R10, 8) != 0)
        return unwind_stop(s, WALK_UNREADABLE);
    s->at.r10 = s->words[0];
    if (unwind_read(w, s, sp + UNWIND_SIGNAL_BP, 8 * UNWIND_SIGNAL_WORDS) != 0)
        return unwind_stop(s, WALK_UNREADABLE);
    s->at.bp = s->words[0];
    s->bp_lost = 0;
    if (unwind_move_to(s, s->words[6], s->words[5]) == UNWIND_DONE)
        return UNWIND_DONE;
    s->exact = 1;
    return UNWIND_GO_ON;
}

/* Return address and caller's rbp, whose places lie close together as a rule: then one read brings
 * both. */
UNWIND_INLINE int unwind_by_cfa(struct unwind_world *w, struct unwind_state *s, __u64 cfa, int rbp)
{
    __u32 words = 1; /* from the lowest of the two up to the CFA */

    if (cfa <= s->at.sp)
        return unwind_stop(s, WALK_STUCK);
    if (rbp == ABI_RBP_LOST || (rbp == ABI_RBP_AT_RBP && s->bp_lost)) {
        s->bp_lost = 1;
    } else if (rbp < -1 && rbp >= -(int)UNWIND_WORDS) {
        words = (__u32)-rbp;
    } else if (rbp != 0) {
        if (unwind_read(w, s, rbp == ABI_RBP_AT_RBP ? s->at.bp : cfa + (__u64)((__s64)rbp * 8), 8))
            return unwind_stop(s, WALK_UNREADABLE);
        s->at.bp = s->words[0];
        s->bp_lost = 0;
    }
    if (unwind_read(w, s, cfa - (__u64)words * 8, words * 8) != 0)
        return unwind_stop(s, WALK_UNREADABLE);
    if (words > 1) {
        s->at.bp = s->words[0];
        s->bp_lost = 0;
    }
    words = (words - 1) % UNWIND_WORDS;
    UNWIND_HIDE(words);
    return unwind_move_to(s, s->words[words % UNWIND_WORDS], cfa);
}

UNWIND_INLINE int unwind_by_row(struct unwind_world *w, struct unwind_state *s, struct abi_row row)
{
    __u32 kind = row.kind;
    __u64 offset = (__u64)(__s64)row.cfa;
    __u64 cfa = s->at.sp;

    switch (kind) {
    case ABI_ROW_GAP:
        return unwind_by_frame_pointer(w, s);
    case ABI_ROW_SIGNAL:
        return unwind_by_signal_frame(w, s);
    case ABI_ROW_ROOT:
        return unwind_stop(s, WALK_ROOT);
    case ABI_ROW_RSP_FAR:
    case ABI_ROW_RBP_FAR:
        offset *= 8;
        break;
    case ABI_ROW_PLT:
        offset = (__s64)(s->at.ip & 15) >= row.cfa ? 16 : 8;
        break;
    case ABI_ROW_R10:
        if (!s->exact)
            return unwind_stop(s, WALK_UNSUPPORTED);
        cfa = s->at.r10;
        break;
    default:
        break;
    }
    if (kind == ABI_ROW_RBP || kind == ABI_ROW_RBP_FAR || kind == ABI_ROW_RBP_DEREF ||
        kind == ABI_ROW_RBP_DEREF8) {
        if (s->bp_lost)
            return unwind_stop(s, WALK_UNSUPPORTED);
        cfa = s->at.bp;
    }
    if (kind >= ABI_ROW_ROOT)
        return unwind_stop(s, WALK_UNSUPPORTED); /* or a number that means nothing */
    cfa += offset;
    if (kind >= ABI_ROW_RSP_DEREF && kind <= ABI_ROW_RBP_DEREF8) {
        if (unwind_read(w, s, cfa, 8) != 0)
            return unwind_stop(s, WALK_UNREADABLE);
        cfa = s->words[0] + (kind >= ABI_ROW_RSP_DEREF8 ? 8 : 0);
    }
    return unwind_by_cfa(w, s, cfa, row.rbp);
}

UNWIND_INLINE int unwind_by_table(struct unwind_world *w, struct unwind_state *s, __u64 address)
{
    __u64 pc = address - s->range.base;
    union unwind_row found = {.word = 0};

    if (pc <= ~(__u32)0)
        found.word = unwind_find_row(w, &s->range, (__u32)pc);
    return unwind_by_row(w, s, found.row);
}

/* ---- the walk ---- */

UNWIND_INLINE void unwind_begin(struct unwind_state *s, __u32 pid, const struct abi_registers *at)
{
    s->at = *at;
    s->range.start = s->range.end = 0;
    s->pid = pid;
    s->frames = 0;
    s->end = WALK_TRUNCATED; /* unless a step says otherwise */
    s->exact = 1;
    s->bp_lost = 0;
}

/* The address that a frame's rules go by: a call may be a function's last instruction, so that its
 * return address is the next function's already. */
UNWIND_INLINE int unwind_step(struct unwind_world *w, struct unwind_state *s)
{
    __u64 address = s->at.ip - !s->exact;
    __u32 rule = ABI_RANGE_FRAME_POINTER; /* for an innermost address in no range: code it is */
    int where = WALK_NONE;

    if (address < s->range.start || address >= s->range.end)
        where = unwind_locate(w, s, address);
    if (where == WALK_NONE)
        rule = s->range.rule;
    else if (!s->exact)
        return unwind_stop(s, (enum walk_end)where);
    unwind_put(w, s, s->at.ip);
    s->frames++;
    if (where == WALK_UNKNOWN)
        return unwind_stop(s, WALK_UNKNOWN);
    if (rule == ABI_RANGE_ROWS)
        return unwind_by_table(w, s, address);
    if (rule == ABI_RANGE_TRAMPOLINE)
        return unwind_by_cfa(w, s, s->at.sp + 16, 0);
    return unwind_by_frame_pointer(w, s);
}

#endif
