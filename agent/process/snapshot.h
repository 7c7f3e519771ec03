/* snapshot - one process as /proc shows it now. */
#ifndef AGENT_PROCESS_SNAPSHOT_H
#define AGENT_PROCESS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/binaries.h"
#include "agent/process/mappings.h"
#include "agent/process/process.h"

struct snapshot {
    char comm[SIDEBAND_COMM_MAX];
    uint64_t start_ns; /* since boot, in whole clock ticks */
    uint32_t threads;
    bool dead; /* a zombie without other threads */
    uint64_t refused; /* mappings over the limit */
    struct mappings mappings;
};

/* Without rights to the mappings there are none in it; that is no failure. ST_NOT_FOUND: no such
 * process; ST_NOMEM. */
enum status snapshot_read(uint32_t pid, struct binaries *binaries, struct snapshot *out);
void snapshot_deinit(struct snapshot *s);

/* Only whether it lives, since when and with how many threads; owns nothing. */
enum status snapshot_read_life(uint32_t pid, struct snapshot *out);

#endif
