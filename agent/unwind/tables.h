/* tables - the unwind tables that there are, one for each binary whatever number of processes map
 * it, and the bounded memory that they share. A table is built when a sample has first met its
 * binary, and makes room for others when none has for the longest. A worker thread reads the files;
 * all else happens in tables_run. Loop thread only; the caller passes time. */
#ifndef AGENT_UNWIND_TABLES_H
#define AGENT_UNWIND_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/file_rows.h"
#include "agent/unwind/kernel_maps.h"
#include "agent/unwind/regions.h"
#include "common/clock.h"
#include "common/id.h"
#include "common/status.h"

#define TABLES_HOT_NS (10 * NS_PER_S) /* no table that was used so lately makes room */
/* Rows that were given up are written over this much later: walks that still read them, in
 * interrupts, take some 10 us. */
#define TABLES_GRACE_NS (50 * NS_PER_MS)
#define TABLES_RETRY_NS (60 * NS_PER_S) /* a table for which there was no room is tried again */

#define TABLES_FORGET_NS (600 * NS_PER_S) /* what is known of a binary without a table */

enum { TABLES_BINARIES_MAX = 1 << 20 }; /* numbers are not used again: a year of builds */

enum table_state {
    TABLE_UNKNOWN, /* nobody asked for it */
    TABLE_WANTED, /* waits for the worker */
    TABLE_BUILDING, /* the worker has it, or it waits for room */
    TABLE_READY,
    TABLE_NONE, /* the file has no unwind information: frame pointers are all there is */
    TABLE_EVICTED, /* made room for others, or found none */
    TABLE_FAILED, /* the file cannot be had or read */
    TABLE_STATES
};

struct table_piece { /* value: a table's rows in one shard */
    uint32_t pc; /* of the first row */
    struct region region;
};

struct tables; /* opaque */

struct tables_options {
    struct kernel_maps *maps; /* lent until tables_free */
    uint32_t shards_max; /* 0: REGIONS_SHARDS_MAX */
    /* An open descriptor of the binary's file, which is then the tables'. */
    enum status (*open)(void *arg, const struct build_id *id, int *out_fd);
    /* Another state that processes' ranges depend on. On return no page leads to a table that is
     * not READY. */
    void (*changed)(void *arg, uint32_t binary);
    void *arg;
};

struct tables_counters { /* since tables_new */
    uint64_t built, none, failed, evicted, refused; /* refused: all others were in use */
    uint64_t rows, bytes; /* now */
    uint64_t build_ns; /* CPU time of the worker */
};

enum status tables_new(const struct tables_options *options, struct tables **out);
void tables_free(struct tables *t); /* waits for the file in hand; NULL is fine */

/* A sample met the binary: its table is built if there is none, and not evicted for a while. */
enum table_state tables_use(struct tables *t, uint32_t binary, const struct build_id *id,
                            struct mono now);

enum table_state tables_state(const struct tables *t, uint32_t binary);
bool tables_settled(enum table_state state); /* false: it may be READY soon */

/* Of a READY table, until it changes. The file has no `items`: they are in the shards. */
const struct file_rows *tables_file(const struct tables *t, uint32_t binary);
const struct table_piece *tables_pieces(const struct tables *t, uint32_t binary,
                                        uint32_t *out_count);

/* Hands files to the worker, takes finished ones from it, makes room. */
void tables_run(struct tables *t, struct mono now);
bool tables_busy(const struct tables *t); /* some are wanted or being built */
struct tables_counters tables_read_counters(const struct tables *t);

#endif
