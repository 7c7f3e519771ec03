/* host_source - samples of this host: the eBPF sampler, the side-band and the process table, merged
 * by time and resolved. Between sessions nothing runs: the side-band opens with the sampling
 * clocks, and /proc is read anew. */
#ifndef AGENT_HOST_SOURCE_H
#define AGENT_HOST_SOURCE_H

#include "agent/source.h"

struct disclosure; /* agent/process/disclosure.h */

struct host_source_options {
    const char *scope_cgroup; /* NULL: the whole host */
    uint32_t ring_bytes; /* 0: the default */
    uint64_t jit_bytes; /* 0: the default */
    const struct disclosure *disclosure; /* its texts are lent as long as the source lives */
};

enum status host_source_open(const struct host_source_options *options, struct source **out,
                             char why[SOURCE_WHY_MAX]);

#endif
