/* cpus - which CPUs are on line. Numbers may have gaps and change while the machine runs. */
#ifndef AGENT_PERF_CPUS_H
#define AGENT_PERF_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

enum { CPUS_MAX = 8192 }; /* the most that Linux can be built for on x86 */

struct cpus { /* value; ascending */
    uint32_t count;
    uint32_t ids[CPUS_MAX];
};

/* The kernel's list form: "0-3,5\n". ST_INVALID: not such a list, or over CPUS_MAX. */
enum status cpus_parse(const char *text, struct cpus *out);
/* Reads /sys/devices/system/cpu/online. */
enum status cpus_online(struct cpus *out);
bool cpus_equal(const struct cpus *a, const struct cpus *b);
bool cpus_contain(const struct cpus *c, uint32_t id);

#endif
