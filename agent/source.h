/* source - where an agent's samples come from. The host's own source is eBPF (host_source.h); a
 * simulated agent brings another. Everything above it is the same code. Loop thread only. */
#ifndef AGENT_SOURCE_H
#define AGENT_SOURCE_H

#include "agent/aggregate.h"
#include "agent/profiler.h"
#include "common/symtab.h"

enum { SOURCE_WHY_MAX = 512, SYMBOL_WHY_MAX = 128 };

struct source;

struct symbol_job { /* names of one binary: opened on the loop, read on a worker thread */
    struct build_id id;
    void *data;
    /* Worker thread; blocks. A descriptor of the packed table (symtab_encode, not empty), the
     * caller's. `why` says what went wrong beside the status, also with ST_OK; else "". */
    enum status (*run)(struct symbol_job *job, int *out_fd, char why[SYMBOL_WHY_MAX]);
    void (*cancel)(struct symbol_job *job); /* loop thread: lets `run` end soon, with or without */
    void (*close)(struct symbol_job *job); /* loop thread, after `run` */
};

typedef void source_visit(void *arg, const struct resolved_sample *sample);

struct source_operations {
    /* Each event by itself. ST_UNSUPPORTED: this source has no such event. */
    enum status (*start)(struct source *s, enum event event, uint64_t period_ns,
                         char why[SOURCE_WHY_MAX]);
    enum status (*set_period)(struct source *s, enum event event, uint64_t period_ns);
    /* Hands over every sample of whatever event that is known to be complete, and says up to when.
     */
    struct mono (*drain)(struct source *s, struct mono now, source_visit *visit, void *arg);
    /* Stops the event at `now` and hands over the rest of it, and what there is of others. */
    void (*stop)(struct source *s, enum event event, struct mono now, source_visit *visit,
                 void *arg);
    /* The event's counters since open. */
    void (*read_counters)(struct source *s, enum event event, struct sample_counters *out);
    /* bpf_ns, bpf_runs and kernel_map_bytes of all events. */
    void (*read_cost)(struct source *s, struct agent_cost *out);
    /* ST_NOT_FOUND: this host does not have that binary (any more). */
    enum status (*open_symbols)(struct source *s, const struct build_id *id,
                                struct symbol_job *out);
    const char *(*degraded)(const struct source *s); /* what cannot be done and why; "" */
    void (*close)(struct source *s);
};

struct source { /* the first member of every source */
    const struct source_operations *operations;
    bool whole_host;
    bool eager; /* large records come in: drain again soon, before they fill the buffers */
    uint32_t cpus;
};

#endif
