/* debuginfod - names for binaries whose hosts have none: their debug files, from the servers that
 * the operator configured; without any, nobody is asked anything. A binary is asked for after the
 * agents had their chance, one at a time, one a second at most; what comes is downloaded by a
 * worker, read by a process of its own, and stored as an upload is. Times are passed in. Loop
 * thread, but for what is marked. */
#ifndef COORDINATOR_SYMBOLS_DEBUGINFOD_H
#define COORDINATOR_SYMBOLS_DEBUGINFOD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compress.h"
#include "common/config.h"
#include "common/id.h"
#include "common/status.h"
#include "common/workers.h"
#include "coordinator/ingest/ingest.h"

#define DEBUGINFOD_GRACE_NS (5 * NS_PER_S) /* for the agents to be asked and to answer */
#define DEBUGINFOD_NEGATIVE_NS (86400 * NS_PER_S) /* until what nobody has is asked for again */
#define DEBUGINFOD_RETRY_NS (600 * NS_PER_S) /* until a failure for a binary is tried again */
#define DEBUGINFOD_PAUSE_NS (10 * NS_PER_S) /* without any question after a failure */

enum { DEBUGINFOD_URLS_MAX = 8 };

#define DEBUGINFOD_COUNTER_LIST(X)                                          \
    X(asked, "binaries that debuginfod servers were asked for")             \
    X(fetched, "tables that were stored")                                   \
    X(not_better, "tables no better than the stored one")                   \
    X(not_found, "binaries that no server has, or whose file has no names") \
    X(refused, "files of another build id, unreadable, or over a limit")    \
    X(failed, "questions without an answer: network, server, disk, or memory")

struct debuginfod; /* opaque */

/* What is fetched, and within what. */
struct debuginfod_order {
    const char *url;
    struct build_id id;
    uint64_t bytes_max; /* of the file */
    const char *directory; /* where it lies meanwhile, without a name */
    const atomic_bool *stop;
};

/* A packed table. ST_NOT_FOUND; ST_INVALID, ST_TOO_BIG: refused; others: failed. On a worker. */
typedef enum status debuginfod_fetch(const struct debuginfod_order *order, struct blob *out);

struct debuginfod_options {
    struct ingest *ingest;
    struct workers workers; /* copied */
    const struct config_list *urls; /* checked; lent until it is freed; none: it never asks */
    uint64_t bytes_max;
    const char *directory; /* lent as well */
    bool (*expected)(void *arg, const struct build_id *id); /* will an agent send it? */
    void *arg;
    debuginfod_fetch *fetch; /* NULL: by HTTP; for tests */
};

enum status debuginfod_new(const struct debuginfod_options *options, struct debuginfod **out);
/* NULL is fine for each of these. */
void debuginfod_free(struct debuginfod *d); /* nothing may be in work */
void debuginfod_tick(struct debuginfod *d, struct mono now, struct wall wall); /* each second */
void debuginfod_stop(struct debuginfod *d); /* what is in work ends within a second or two */
void debuginfod_counters(const struct debuginfod *d,
                         void (*visit)(void *to, const char *name, uint64_t value), void *to);

#endif
