/* deferred - walks the copy of a stack that came with a sample, by the very code that walks in the
 * kernel: for a process that was not known there yet. Loop thread only. */
#ifndef AGENT_UNWIND_DEFERRED_H
#define AGENT_UNWIND_DEFERRED_H

#include "agent/unwind/kernel_maps.h"
#include "agent/unwind/publisher.h"
#include "bpf/abi.h"

struct deferred_walk { /* value */
    uint64_t frames[ABI_FRAMES_MAX]; /* addresses, innermost first */
    uint32_t count;
    enum walk_end end; /* UNKNOWN: the publisher does not know the process */
};

void deferred_walk(const struct publisher *p, struct kernel_maps *maps, uint32_t pid,
                   const struct abi_raw_stack *raw, struct deferred_walk *out);

#endif
