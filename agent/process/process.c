#include "agent/process/process.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/process/process_table.h"

const struct process *processes_find(struct processes *t, uint32_t pid)
{
    struct member *m = roster_find(&t->roster, pid);

    if (m == NULL && process_load(t, pid, &m) != ST_OK)
        return NULL;
    roster_touch(&t->roster, m);
    return &m->process;
}

void processes_note(struct processes *t, const struct sighting *s)
{
    struct member *m = roster_find(&t->roster, s->pid);

    if (s->time.ns > t->now.ns)
        t->now = s->time;
    if (m == NULL)
        return;
    process_note_cgroup(t, m, (struct cgroup_ids){s->cgroup, s->cgroup_v1});
    process_follow_jit(t, m);
}

const struct mapping *processes_map(struct processes *t, uint32_t pid, uint64_t address)
{
    const struct member *m = roster_find(&t->roster, pid);

    return m != NULL ? mappings_find(&m->mappings, address) : NULL;
}

uint64_t processes_code_version(const struct processes *t)
{
    return t->code_version;
}

const struct mapping *processes_code(const struct processes *t, uint32_t pid, uint32_t *out_count,
                                     uint64_t *out_version)
{
    static const struct mapping none;
    const struct member *m = roster_find(&t->roster, pid);

    if (m == NULL || m->ended)
        return NULL;
    *out_count = m->mappings.count;
    *out_version = m->code_version;
    return m->mappings.count > 0 ? m->mappings.items : &none;
}

enum status processes_open_binary(struct processes *t, const struct build_id *id, int *out_fd)
{
    return binaries_open(t->binaries, id, out_fd);
}

static void keep_mapped(struct processes *t, const struct queue *members)
{
    for (const struct member *m = members->first; m != NULL; m = m->after)
        for (uint32_t i = 0; i < m->mappings.count; i++)
            if (m->mappings.items[i].binary != NULL)
                binaries_keep(t->binaries, m->mappings.items[i].binary);
}

void process_sweep_binaries(struct processes *t)
{
    if (!binaries_are_many(t->binaries))
        return;
    keep_mapped(t, &t->roster.living);
    keep_mapped(t, &t->roster.ended);
    binaries_sweep(t->binaries);
}

struct processes_counters processes_read_counters(const struct processes *t)
{
    return (struct processes_counters){
        .evicted = t->roster.displaced,
        .mappings_refused = t->mappings_refused,
        .unreadable_binaries = binaries_unreadable(t->binaries),
        .processes = t->roster.count,
        .dropped_binaries = binaries_dropped(t->binaries),
        .binaries = binaries_count(t->binaries),
        .jit_bytes = t->jit_pool.bytes,
    };
}

enum status processes_new(const struct processes_options *options, struct processes **out)
{
    struct processes *t = calloc(1, sizeof(*t));
    enum status st = ST_NOMEM;

    if (t == NULL)
        return ST_NOMEM;
    t->tick_ns = NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK);
    if (options->disclosure != NULL)
        t->disclosure = *options->disclosure;
    t->jit_bytes_max = options->jit_bytes != 0 ? options->jit_bytes : PROCESSES_JIT_BYTES;
    t->boot_offset_ns = process_boot_offset();
    st = binaries_new(&t->binaries);
    if (st != ST_OK)
        goto out;
    *out = t;
    t = NULL;
out:
    processes_free(t);
    return st;
}

void processes_free(struct processes *t)
{
    if (t == NULL)
        return;
    roster_deinit(&t->roster);
    cgroups_deinit(&t->cgroups);
    binaries_free(t->binaries);
    free(t);
}
