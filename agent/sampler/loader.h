/* loader - puts the eBPF programs into the kernel: the best of the sampling programs that it takes,
 * and those that forget a process when it ends. What had to be left out is told. Loop thread only.
 */
#ifndef AGENT_SAMPLER_LOADER_H
#define AGENT_SAMPLER_LOADER_H

#include <stdint.h>

#include "agent/sampler/sampler.h"
#include "common/status.h"

struct oncpu_bpf; /* bpftool's, of bpf/oncpu.skel.h */

struct loader_options {
    uint32_t ring_bytes;
    uint32_t pid_namespace; /* the agent's, by inode; 0: the first one */
    enum sampler_walk walk; /* the best to try */
};

struct loaded {
    struct oncpu_bpf *skeleton;
    struct bpf_link *on_exec, *on_exit; /* NULL: nobody forgets */
    int program_fd; /* of the sampling program; the skeleton's */
    enum sampler_walk walk; /* the one that runs */
    char degraded[SAMPLER_WHY_MAX]; /* "": nothing was left out */
};

/* `out` must be zero and may be half filled on failure: loader_unload in either case. */
enum status loader_load(const struct loader_options *options, struct loaded *out,
                        char why[SAMPLER_WHY_MAX]);
void loader_unload(struct loaded *l); /* a zero one is fine */

#endif
