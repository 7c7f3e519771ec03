/* publisher - tells the eBPF programs what code each process has, once all of it has its tables,
 * and takes it back. Keeps what it
 * told, for walks here and for when tables come and go. Bounded by the kernel's map of pages: when
 * that is full the process goes that was sampled the longest ago. Loop thread only. */
#ifndef AGENT_UNWIND_PUBLISHER_H
#define AGENT_UNWIND_PUBLISHER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/kernel_maps.h"
#include "agent/unwind/ranges.h"
#include "agent/unwind/tables.h"
#include "common/clock.h"
#include "common/status.h"

/* A program that has just begun maps its libraries one after the other: the kernel is told of it
 * when its mappings were the same for this long. */
#define PUBLISHER_SETTLE_NS (100 * NS_PER_MS)

enum { PUBLISHER_PROCESSES_MAX = 1 << 14 }; /* where no map bounds them */

struct publisher; /* opaque */

struct code { /* lent */
    const struct code_mapping *mappings; /* ascending, not overlapping */
    uint32_t count;
    uint64_t version; /* not 0; changes with the mappings */
    uint64_t program; /* changes when the process executes another file */
    bool settled; /* the program has been running for long */
};

struct published_state { /* value; zero: the process is not known */
    uint64_t version;
    struct mono put_at;
};

struct publisher_counters { /* since publisher_new */
    uint64_t pages_written, displaced; /* displaced: processes that others' pages pushed out */
    uint64_t refused; /* processes whose pages the kernel did not take */
    uint64_t ranges_dropped; /* over RANGES_MAX */
    uint32_t processes; /* now */
};

/* Both are lent until publisher_free. */
enum status publisher_new(struct kernel_maps *maps, const struct tables *tables,
                          struct publisher **out);
void publisher_free(struct publisher *p); /* takes all pages back; NULL is fine */

/* The process's executable memory is this from now on; copied. On failure nothing of it is known.
 * ST_NOMEM, ST_FULL. */
enum status publisher_put(struct publisher *p, uint32_t pid, const struct code *code,
                          struct mono now);
struct published_state publisher_state(const struct publisher *p, uint32_t pid);
void publisher_drop(struct publisher *p, uint32_t pid); /* it ended, or runs another file */

void publisher_touch(struct publisher *p, uint32_t pid, struct mono now); /* a sample met it */
struct mono publisher_used(const struct publisher *p, uint32_t pid); /* when; 0: not known */

/* Tells the kernel of the processes that have settled. */
void publisher_run(struct publisher *p, struct mono now); /* by the clock of publisher_put */

/* Drops each process of which `stays` says no. */
void publisher_sweep(struct publisher *p, bool (*stays)(void *arg, uint32_t pid), void *arg);

/* Writes anew what the binary's table has a part in. */
void publisher_table_changed(struct publisher *p, uint32_t binary);

/* Until the process's mappings or their tables change; NULL: it is not known. */
const struct ranges *publisher_ranges(const struct publisher *p, uint32_t pid);
/* Some code of it will have a table soon. */
bool publisher_waits(const struct publisher *p, uint32_t pid);

struct publisher_counters publisher_read_counters(const struct publisher *p);

#endif
