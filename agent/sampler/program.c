#include "agent/sampler/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampler/loader.h"
#include "bpf/oncpu.skel.h"

enum { FDINFO_LINE_MAX = 128 };

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

static uint64_t map_memory(int map_fd)
{
    char path[64], line[FDINFO_LINE_MAX];
    uint64_t bytes = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
            break;
    fclose(f);
    return bytes;
}

static uint64_t all_map_memory(const struct program *p)
{
    struct bpf_map *map;
    uint64_t bytes = 0;

    bpf_object__for_each_map(map, p->loaded.skeleton->obj)
    {
        bytes += map_memory(bpf_map__fd(map));
    }
    return bytes;
}

/* The program wrote the record, so a bad shape is a fault of ours; it is skipped all the same. */
static bool record_is_whole(const struct abi_sample *s, size_t size)
{
    return size >= sizeof(*s) && s->kernel_frames <= ABI_FRAMES_MAX &&
           s->user_frames <= ABI_FRAMES_MAX && s->end < WALK_ENDS &&
           size >= sizeof(*s) + (s->kernel_frames + s->user_frames) * sizeof(s->frames[0]);
}

/* The copy of the stack behind a whole record's frames; NULL: there is none. */
static const struct abi_raw_stack *raw_stack(const struct abi_sample *s, size_t size)
{
    const void *end_of_frames = s->frames + s->kernel_frames + s->user_frames;
    const struct abi_raw_stack *raw = end_of_frames;
    size_t room = size - (size_t)((const char *)end_of_frames - (const char *)s);

    if ((s->flags & ABI_DEFERRED) == 0 || room < sizeof(*raw) || raw->bytes > ABI_RAW_STACK_MAX ||
        room - sizeof(*raw) < raw->bytes)
        return NULL;
    return raw;
}

static int on_record(void *arg, void *data, size_t size)
{
    const struct program *p = arg;
    const struct abi_sample *s = data;
    struct sample sample;

    if (!record_is_whole(s, size))
        return 0;
    sample = (struct sample){
        .time = {s->time_ns},
        .cgroup = s->cgroup,
        .cgroup_v1 = s->cgroup_v1,
        .pid = s->pid,
        .tid = s->tid,
        .cpu = s->cpu,
        .end = s->end,
        .kernel_thread = (s->flags & ABI_KERNEL_THREAD) != 0,
        .kernel = (const uint64_t *)s->frames,
        .kernel_count = s->kernel_frames,
        .user = (const uint64_t *)s->frames + s->kernel_frames,
        .user_count = s->user_frames,
        .raw = raw_stack(s, size),
    };
    memcpy(sample.comm, s->comm, sizeof(sample.comm));
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
    p->map_bytes = all_map_memory(p);
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
    if (bpf_obj_get_info_by_fd(program_fd(p), &info, &length) == 0) {
        out->kernel_missed = info.recursion_misses;
        out->bpf_ns = info.run_time_ns;
        out->bpf_runs = info.run_cnt;
        out->verified_instructions = info.verified_insns;
    }
    out->map_bytes = p->map_bytes;
}
