/* source - where an agent's samples come from. The host's own source is eBPF (host_source.h); a
 * simulated agent brings another. Everything above it is the same code. Loop thread only. */
#ifndef AGENT_SOURCE_H
#define AGENT_SOURCE_H

#include "agent/aggregate.h"
#include "agent/profiler.h"
#include "common/symtab.h"

enum { SOURCE_WHY_MAX = 512 };

struct source;

struct symbol_job { /* names of one binary: opened on the loop, read on a worker thread */
    struct build_id id;
    void *data;
    enum status (*read)(struct symbol_job *job, struct symtab *out); /* sorted; any thread */
    void (*close)(struct symbol_job *job);
};

typedef void source_visit(void *arg, const struct resolved_sample *sample);

struct source_operations {
    enum status (*start)(struct source *s, uint64_t period_ns, char why[SOURCE_WHY_MAX]);
    enum status (*set_period)(struct source *s, uint64_t period_ns);
    /* Hands over every sample that is known to be complete, in order, and says up to when. */
    struct mono (*drain)(struct source *s, struct mono now, source_visit *visit, void *arg);
    /* Stops the clocks and hands over the rest. */
    void (*stop)(struct source *s, source_visit *visit, void *arg);
    /* Counters since open; bpf_ns, bpf_runs and kernel_map_bytes of the cost. */
    void (*read_counters)(struct source *s, struct sample_counters *out, struct agent_cost *cost);
    /* ST_NOT_FOUND: this host does not have that binary (any more). */
    enum status (*open_symbols)(struct source *s, const struct build_id *id,
                                struct symbol_job *out);
    const char *(*degraded)(const struct source *s); /* what cannot be done and why; "" */
    void (*close)(struct source *s);
};

struct source { /* the first member of every source */
    const struct source_operations *operations;
    bool whole_host;
    uint32_t cpus;
};

#endif
