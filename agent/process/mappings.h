/* mappings - the executable mappings of one process: sorted, never overlapping. Unmapping is not
 * reported by the kernel; what is mapped later replaces what was there. */
#ifndef AGENT_PROCESS_MAPPINGS_H
#define AGENT_PROCESS_MAPPINGS_H

#include "agent/process/process.h"

struct mappings { /* zero-initialised is empty */
    struct mapping *items;
    uint32_t count, capacity;
};

/* Neighbours that continue each other become one. ST_INVALID: an empty or impossible range;
 * ST_FULL: PROCESS_MAPPINGS_MAX. */
enum status mappings_put(struct mappings *m, struct mapping mapping);
const struct mapping *mappings_find(const struct mappings *m, uint64_t address);
enum status mappings_copy(const struct mappings *from, struct mappings *out);
void mappings_deinit(struct mappings *m); /* leaves the empty set */

#endif
