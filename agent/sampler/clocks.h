/* clocks - the sampling clocks: one cpu-clock event per online CPU, each running the eBPF program
 * once a period. Periods are in ns of the clock's own time, so a sample stands for its period of
 * CPU time whatever the machine's frequency. Loop thread only. */
#ifndef AGENT_SAMPLER_CLOCKS_H
#define AGENT_SAMPLER_CLOCKS_H

#include <stdint.h>

#include "agent/sampler/sampler.h"
#include "common/status.h"

struct clocks; /* opaque */

/* Tries one event and closes it, so that a refusal is known at once. `program_fd` is lent until
 * clocks_close. */
enum status clocks_open(const char *scope_cgroup, int program_fd, struct clocks **out,
                        char why[SAMPLER_WHY_MAX]);
void clocks_close(struct clocks *c); /* NULL is fine */

enum status clocks_start(struct clocks *c, uint64_t period_ns); /* must not be running */
enum status clocks_set_period(struct clocks *c, uint64_t period_ns);
void clocks_stop(struct clocks *c);
enum status clocks_follow_cpus(struct clocks *c);

uint64_t clocks_total_ns(const struct clocks *c); /* since clocks_open, over all CPUs */
uint32_t
clocks_count(const struct clocks *c); /* running; after clocks_stop, those that it stopped */

#endif
