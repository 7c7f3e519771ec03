/* sample - one stack, as the kernel side told it. */
#ifndef AGENT_SAMPLER_SAMPLE_H
#define AGENT_SAMPLER_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "common/clock.h"
#include "common/event.h"

struct sample { /* lent for the call that passes it */
    enum event event;
    struct mono time;
    uint32_t repeats; /* OFFCPU: further samples of the same wait ... */
    uint64_t step_ns; /* ... each this much later than the one before */
    enum abi_wait_kind wait; /* OFFCPU: what it waited for */
    uint64_t cgroup;
    uint64_t cgroup_v1; /* of the v1 memory hierarchy; 0: there is none */
    uint32_t pid, tid, cpu; /* in the agent's pid namespace; 0: not visible from there */
    enum walk_end end;
    bool kernel_thread;
    char comm[ABI_COMM_BYTES];
    const uint64_t *kernel, *user; /* addresses, innermost first */
    uint32_t kernel_count, user_count;
    /* The stack's top, for the agent to walk: the kernel side did not know the process, or not the
     * mapping that its walk came to. `user` and `end` are as far as it got. NULL: no need. */
    const struct abi_raw_stack *raw;
};

typedef void sample_visit(void *arg, const struct sample *sample);

/* Of a record of a struct abi_sample; `out` points into it. False: it is not whole, which would be
 * a fault of ours. */
bool sample_read(const void *record, size_t size, enum event event, struct sample *out);

#endif
