#include "agent/sampler/program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/oncpu.skel.h"

#define VERIFIER_LOG_BEGIN "BEGIN PROG LOAD LOG"
#define VERIFIER_SUMMARY "\nprocessed "

enum { FDINFO_LINE_MAX = 128 };

struct counts { /* one CPU's value of the counters map */
    uint64_t counts[ABI_COUNTERS];
};

struct program {
    struct oncpu_bpf *skeleton;
    struct ring_buffer *ring;
    struct counts *per_cpu; /* room for one look-up */
    int cpus; /* possible ones */
    uint64_t map_bytes;
    void (*visit)(void *arg, const struct sample *sample); /* of the drain that runs */
    void *arg;
};

/* libbpf's print callback has no argument, so what it said lies here between two loads. */
static char last_words[SAMPLER_WHY_MAX / 2];

static void keep_tail(const char *text)
{
    size_t length = strlen(text);
    size_t skip = length < sizeof(last_words) ? 0 : length - (sizeof(last_words) - 1);

    (void)snprintf(last_words, sizeof(last_words), "%s", text + skip);
    for (char *c = last_words; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
}

/* The verifier's verdict is the line above its summary; any other warning is kept until one comes.
 */
static void keep_words(char *text)
{
    static bool have_verdict;
    char *end;

    if (last_words[0] == '\0')
        have_verdict = false;
    if (strstr(text, VERIFIER_LOG_BEGIN) != NULL) {
        end = strstr(text, VERIFIER_SUMMARY);
        if (end != NULL)
            *end = '\0';
        have_verdict = true;
        keep_tail(text);
    } else if (!have_verdict) {
        keep_tail(text);
    }
}

static int on_libbpf_print(enum libbpf_print_level level, const char *format, va_list args)
{
    char *text = NULL;

    if (level != LIBBPF_WARN)
        return 0;
    if (vasprintf(&text, format, args) < 0)
        return 0;
    keep_words(text);
    free(text);
    return 0;
}

static enum status explain_load(int err, char why[SAMPLER_WHY_MAX])
{
    switch (err) {
    case EPERM:
        (void)snprintf(why, SAMPLER_WHY_MAX,
                       "loading the eBPF program: permission denied: run as root or with CAP_BPF "
                       "and CAP_PERFMON (kernel lockdown refuses root too)");
        return ST_DENIED;
    case ENOMEM:
        (void)snprintf(why, SAMPLER_WHY_MAX, "loading the eBPF program: out of memory");
        return ST_NOMEM;
    default:
        (void)snprintf(why, SAMPLER_WHY_MAX, "loading the eBPF program: %s",
                       last_words[0] != '\0' ? last_words : strerror(err));
        return ST_UNSUPPORTED;
    }
}

static enum status load(struct program *p, uint32_t ring_bytes, char why[SAMPLER_WHY_MAX])
{
    libbpf_print_fn_t before;
    int rc = -EINVAL;

    last_words[0] = '\0';
    before = libbpf_set_print(on_libbpf_print);
    p->skeleton = oncpu_bpf__open();
    if (p->skeleton == NULL)
        rc = -errno;
    else
        rc = bpf_map__set_max_entries(p->skeleton->maps.ring, ring_bytes);
    if (rc == 0)
        rc = oncpu_bpf__load(p->skeleton);
    libbpf_set_print(before);
    return rc == 0 ? ST_OK : explain_load(-rc, why);
}

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

    bpf_object__for_each_map(map, p->skeleton->obj)
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
        .pid = s->pid,
        .tid = s->tid,
        .cpu = s->cpu,
        .end = s->end,
        .kernel_thread = (s->flags & ABI_KERNEL_THREAD) != 0,
        .kernel = (const uint64_t *)s->frames,
        .kernel_count = s->kernel_frames,
        .user = (const uint64_t *)s->frames + s->kernel_frames,
        .user_count = s->user_frames,
    };
    memcpy(sample.comm, s->comm, sizeof(sample.comm));
    p->visit(p->arg, &sample);
    return 0;
}

enum status program_open(uint32_t ring_bytes, struct program **out, char why[SAMPLER_WHY_MAX])
{
    struct program *p = calloc(1, sizeof(*p));
    enum status st = ST_NOMEM;

    if (p == NULL)
        return ST_NOMEM;
    st = load(p, ring_bytes, why);
    if (st != ST_OK)
        goto out;
    st = ST_NOMEM;
    p->ring = ring_buffer__new(bpf_map__fd(p->skeleton->maps.ring), on_record, p, NULL);
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
    oncpu_bpf__destroy(p->skeleton);
    free(p->per_cpu);
    free(p);
}

int program_fd(const struct program *p)
{
    return bpf_program__fd(p->skeleton->progs.on_cpu);
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

    if (bpf_map_lookup_elem(bpf_map__fd(p->skeleton->maps.counters), &zero, p->per_cpu) != 0)
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
    }
    out->map_bytes = p->map_bytes;
}
