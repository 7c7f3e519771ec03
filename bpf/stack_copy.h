/* stack_copy - a copy of the top of the current task's user stack, for the agent to walk. */
#ifndef BPF_STACK_COPY_H
#define BPF_STACK_COPY_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "bpf/abi.h"

#define USER_PAGE_BYTES 4096u
#define STACK_COPY_READS (ABI_RAW_STACK_MAX / USER_PAGE_BYTES) /* the first may be short */

/* Page by page up to the first that cannot be read: the stack's end. `offset` bytes behind `record`
 * there is room for all of it. The copy's length in bytes. */
static __always_inline __u32 stack_copy(void *record, __u32 offset, __u64 sp)
{
    __u32 copied = 0;

    for (__u32 i = 0; i < STACK_COPY_READS; i++) {
        __u32 room = USER_PAGE_BYTES - (sp + copied) % USER_PAGE_BYTES;

        if (copied > ABI_RAW_STACK_MAX - USER_PAGE_BYTES)
            break; /* never; the verifier wants to see it */
        if (room > USER_PAGE_BYTES)
            room = USER_PAGE_BYTES;
        if (bpf_probe_read_user(record + offset + copied, room, (void *)(sp + copied)) != 0)
            break;
        copied += room;
    }
    return copied;
}

#endif
