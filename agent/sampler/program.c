#include "agent/sampler/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampler/loader.h"
#include "agent/sampler/map_memory.h"
#include "agent/sampler/sample.h"
#include "bpf/oncpu.skel.h"

struct counts { /* one CPU's value of the counters map */
    uint64_t counts[ABI_COUNTERS];
};

struct program {
    struct loaded loaded;
    struct ring_buffer *ring;
    struct counts *per_cpu; /* room for one look-up */
    int cpus; /* possible ones */
    uint64_t map_bytes;
    void (*visit)(void *arg, const struct sample *sample); /* of the drain that runs */
    void *arg;
};

static int on_record(void *arg, void *data, size_t size)
{
    const struct program *p = arg;
    struct sample sample;

    if (!sample_read(data, size, EVENT_CPU, &sample))
        return 0;
    p->visit(p->arg, &sample);
    return 0;
}

enum status program_open(const struct loader_options *options, struct program **out,
                         char why[SAMPLER_WHY_MAX])
{
    struct program *p = calloc(1, sizeof(*p));
    enum status st = ST_NOMEM;

    if (p == NULL)
        return ST_NOMEM;
    st = loader_load(options, &p->loaded, why);
    if (st != ST_OK)
        goto out;
    st = ST_NOMEM;
    p->ring = ring_buffer__new(bpf_map__fd(p->loaded.skeleton->maps.ring), on_record, p, NULL);
    if (p->ring == NULL)
        goto out;
    p->cpus = libbpf_num_possible_cpus();
    if (p->cpus <= 0)
        goto out;
    p->per_cpu = calloc((size_t)p->cpus, sizeof(*p->per_cpu));
    if (p->per_cpu == NULL)
        goto out;
    p->map_bytes = map_memory(p->loaded.skeleton->obj);
    *out = p;
    p = NULL;
    st = ST_OK;
out:
    if (st == ST_NOMEM)
        (void)snprintf(why, SAMPLER_WHY_MAX, "eBPF ring buffer: %s", status_text(st));
    program_close(p);
    return st;
}

void program_close(struct program *p)
{
    if (p == NULL)
        return;
    ring_buffer__free(p->ring);
    loader_unload(&p->loaded);
    free(p->per_cpu);
    free(p);
}

int program_fd(const struct program *p)
{
    return p->loaded.program_fd;
}

struct sampler_maps program_maps(const struct program *p)
{
    return (struct sampler_maps){
        .processes = bpf_map__fd(p->loaded.skeleton->maps.processes),
        .shards = bpf_map__fd(p->loaded.skeleton->maps.shards),
    };
}

void program_use_tables(struct program *p, bool on)
{
    p->loaded.skeleton->bss->unwind_tables_on = on;
}

const struct loaded *program_loaded(const struct program *p)
{
    return &p->loaded;
}

void program_drain(struct program *p, void (*visit)(void *arg, const struct sample *sample),
                   void *arg)
{
    p->visit = visit;
    p->arg = arg;
    (void)ring_buffer__consume(p->ring); /* on_record never fails, so neither does this */
}

static void read_counts(const struct program *p, uint64_t counts[ABI_COUNTERS])
{
    uint32_t zero = 0;

    if (bpf_map_lookup_elem(bpf_map__fd(p->loaded.skeleton->maps.counters), &zero, p->per_cpu) != 0)
        return;
    for (int cpu = 0; cpu < p->cpus; cpu++)
        for (int i = 0; i < ABI_COUNTERS; i++)
            counts[i] += p->per_cpu[cpu].counts[i];
}

void program_read_counters(const struct program *p, struct sampler_counters *out)
{
    struct bpf_prog_info info = {0};
    uint32_t length = sizeof(info);

    memset(out->counts, 0, sizeof(out->counts));
    read_counts(p, out->counts);
    out->bpf_ns = out->counts[ABI_COUNTER_NS];
    out->bpf_runs = out->counts[ABI_COUNTER_RUNS];
    if (bpf_obj_get_info_by_fd(program_fd(p), &info, &length) == 0) {
        out->kernel_missed = info.recursion_misses;
        out->verified_instructions = info.verified_insns;
    }
    out->map_bytes = p->map_bytes;
}
