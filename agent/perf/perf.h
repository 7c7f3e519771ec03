/* perf - opening perf events, with the reason in words when the kernel refuses. */
#ifndef AGENT_PERF_PERF_H
#define AGENT_PERF_PERF_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct perf_event_attr; /* <linux/perf_event.h> */

enum { PERF_EVERY_TASK = -1 };

/* Opens an event on one CPU: for every task, or for those of the cgroup whose directory is open as
 * `cgroup_fd`. The descriptor is closed on exec. 0 or a negative errno. */
int perf_open(struct perf_event_attr *attr, int cgroup_fd, uint32_t cpu, int *out_fd);

/* What the errno of a refusal means and what to do about it; one phrase, static storage. */
const char *perf_explain(int err);

#endif
