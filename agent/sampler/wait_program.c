#include "agent/sampler/wait_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampler/last_words.h"
#include "agent/sampler/map_memory.h"
#include "bpf/offcpu.skel.h"

/* One CPU's scratch of the program, as far as we read it; its size is the map's to say. */
struct scratch_head {
    uint64_t period;
    uint32_t quotas[2][4];
    uint64_t counts[ABI_WAIT_COUNTERS];
};

struct wait_program {
    struct offcpu_bpf *skeleton;
    struct bpf_program *on_switch; /* the one of three that is loaded */
    struct bpf_link *links[2];
    struct ring_buffer *ring;
    uint8_t *per_cpu; /* room for one look-up */
    size_t scratch_bytes; /* of one CPU */
    int cpus; /* possible ones */
    uint64_t map_bytes;
    const struct wait_visitor *visitor; /* of the drain that runs */
};

/* ---- loading ---- */

static struct bpf_program *switch_program(const struct offcpu_bpf *skeleton, enum sampler_walk walk)
{
    switch (walk) {
    case SAMPLER_WALK_FAST:
        return skeleton->progs.on_switch;
    case SAMPLER_WALK_COMPAT:
        return skeleton->progs.on_switch_compat;
    case SAMPLER_WALK_PLAIN:
        break;
    }
    return skeleton->progs.on_switch_plain;
}

static int share_tables(struct offcpu_bpf *skeleton, const struct sampler_maps *maps)
{
    int rc = bpf_map__reuse_fd(skeleton->maps.processes, maps->processes);

    return rc == 0 ? bpf_map__reuse_fd(skeleton->maps.shards, maps->shards) : rc;
}

static int configure(struct wait_program *p, const struct wait_program_options *options)
{
    struct offcpu_bpf *skeleton = p->skeleton;
    struct bpf_program *const switches[] = {skeleton->progs.on_switch,
                                            skeleton->progs.on_switch_compat,
                                            skeleton->progs.on_switch_plain};

    skeleton->rodata->agent_pid_namespace = options->pid_namespace;
    skeleton->rodata->cgroup_v1_memory = cgroup_memory_is_on_v1();
    skeleton->rodata->scope_cgroup = options->scope.id;
    skeleton->rodata->scope_level = options->scope.level;
    p->on_switch = switch_program(skeleton, options->walk);
    for (unsigned i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        bpf_program__set_autoload(switches[i], switches[i] == p->on_switch);
    if (share_tables(skeleton, &options->maps) != 0)
        return -errno;
    return bpf_map__set_max_entries(skeleton->maps.waits, options->ring_bytes);
}

static enum status load(struct wait_program *p, const struct wait_program_options *options,
                        char why[SAMPLER_WHY_MAX])
{
    int rc = 0;

    last_words_listen(true);
    last_words_forget();
    p->skeleton = offcpu_bpf__open();
    if (p->skeleton == NULL)
        rc = -errno;
    if (rc == 0)
        rc = configure(p, options);
    if (rc == 0)
        rc = offcpu_bpf__load(p->skeleton);
    last_words_listen(false);
    return rc == 0 ? ST_OK : last_words_explain(-rc, why);
}

/* ---- the ring ---- */

static int on_record(void *arg, void *data, size_t size)
{
    const struct wait_program *p = arg;
    const struct abi_wait *wait = data;
    struct sample sample;

    if (size < sizeof(*wait))
        return 0;
    if (wait->end_ns != 0)
        p->visitor->end(p->visitor->arg, wait);
    else if (wait->kind < ABI_WAITS && wait->chance > 0 && wait->chance <= ABI_CHANCE_ONE &&
             sample_read(wait + 1, size - sizeof(*wait), EVENT_OFFCPU, &sample))
        p->visitor->begin(p->visitor->arg, wait, &sample);
    return 0;
}

void wait_program_drain(struct wait_program *p, const struct wait_visitor *visitor)
{
    p->visitor = visitor;
    (void)ring_buffer__consume(p->ring); /* on_record never fails, so neither does this */
}

/* ---- open and close ---- */

static enum status prepare(struct wait_program *p)
{
    size_t bytes = bpf_map__value_size(p->skeleton->maps.wait_scratches);

    p->ring = ring_buffer__new(bpf_map__fd(p->skeleton->maps.waits), on_record, p, NULL);
    p->cpus = libbpf_num_possible_cpus();
    p->scratch_bytes = (bytes + 7) / 8 * 8; /* as the kernel pads each CPU's value */
    if (p->ring == NULL || p->cpus <= 0 || bytes < sizeof(struct scratch_head))
        return ST_NOMEM;
    p->per_cpu = calloc((size_t)p->cpus, p->scratch_bytes);
    if (p->per_cpu == NULL)
        return ST_NOMEM;
    p->map_bytes = map_memory(p->skeleton->obj) - /* the sampling program's: */
                   map_memory_of(bpf_map__fd(p->skeleton->maps.processes)) -
                   map_memory_of(bpf_map__fd(p->skeleton->maps.shards));
    return ST_OK;
}

enum status wait_program_open(const struct wait_program_options *options, struct wait_program **out,
                              char why[SAMPLER_WHY_MAX])
{
    struct wait_program *p = calloc(1, sizeof(*p));
    enum status st = ST_NOMEM;

    (void)snprintf(why, SAMPLER_WHY_MAX, "%s", status_text(ST_NOMEM));
    if (p == NULL)
        goto out;
    st = load(p, options, why);
    if (st == ST_OK)
        st = prepare(p);
    if (st != ST_OK)
        goto out;
    why[0] = '\0';
    *out = p;
    p = NULL;
out:
    wait_program_close(p);
    return st;
}

void wait_program_close(struct wait_program *p)
{
    if (p == NULL)
        return;
    wait_program_stop(p);
    ring_buffer__free(p->ring);
    offcpu_bpf__destroy(p->skeleton);
    free(p->per_cpu);
    free(p);
}

/* ---- runs ---- */

enum status wait_program_start(struct wait_program *p)
{
    p->skeleton->bss->run_number++;
    p->links[0] = bpf_program__attach(p->skeleton->progs.on_wakeup);
    p->links[1] = bpf_program__attach(p->on_switch);
    if (p->links[0] != NULL && p->links[1] != NULL)
        return ST_OK;
    wait_program_stop(p);
    return ST_UNSUPPORTED;
}

void wait_program_stop(struct wait_program *p)
{
    for (unsigned i = 0; i < 2; i++) {
        bpf_link__destroy(p->links[i]);
        p->links[i] = NULL;
    }
}

void wait_program_use_tables(struct wait_program *p, bool on)
{
    p->skeleton->bss->unwind_tables_on = on;
}

/* ---- counters ---- */

static void read_counts(const struct wait_program *p, uint64_t counts[ABI_WAIT_COUNTERS])
{
    int map = bpf_map__fd(p->skeleton->maps.wait_scratches);
    struct scratch_head head;
    uint32_t zero = 0;

    if (bpf_map_lookup_elem(map, &zero, p->per_cpu) != 0)
        return;
    for (int cpu = 0; cpu < p->cpus; cpu++) {
        memcpy(&head, p->per_cpu + (size_t)cpu * p->scratch_bytes, sizeof(head));
        for (int i = 0; i < ABI_WAIT_COUNTERS; i++)
            counts[i] += head.counts[i];
    }
}

static void add_runs(const struct bpf_program *program, struct wait_program_counters *out)
{
    struct bpf_prog_info info = {0};
    uint32_t length = sizeof(info);

    if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &length) != 0)
        return;
    out->bpf_ns += info.run_time_ns;
    out->bpf_runs += info.run_cnt;
}

void wait_program_read_counters(struct wait_program *p, struct wait_program_counters *out)
{
    *out = (struct wait_program_counters){.map_bytes = p->map_bytes};
    read_counts(p, out->counts);
    add_runs(p->on_switch, out);
    add_runs(p->skeleton->progs.on_wakeup, out);
}
