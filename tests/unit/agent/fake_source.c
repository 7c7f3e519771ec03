#include "tests/unit/agent/fake_source.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct fake_source *from(struct source *s)
{
    return (struct fake_source *)s;
}

static enum status start(struct source *s, enum event event, uint64_t period_ns,
                         char why[SOURCE_WHY_MAX])
{
    struct fake_source *f = from(s);

    if (event != EVENT_CPU) {
        (void)snprintf(why, SOURCE_WHY_MAX, "the fake has only a CPU");
        return ST_UNSUPPORTED;
    }
    if (f->refuse_start) {
        (void)snprintf(why, SOURCE_WHY_MAX, "the clocks are locked away");
        return ST_DENIED;
    }
    f->starts++;
    f->running = true;
    f->running_since = f->now;
    f->period_ns = period_ns;
    return ST_OK;
}

static enum status set_period(struct source *s, enum event event, uint64_t period_ns)
{
    struct fake_source *f = from(s);

    (void)event;
    if (f->refuse_period)
        return ST_IO;
    f->period_changes++;
    f->period_ns = period_ns;
    return ST_OK;
}

static void hand_over(struct fake_source *f, struct mono time, source_visit *visit, void *arg)
{
    static const struct resolved_frame frames[] = {{FRAME_NAMED, NULL, NULL, "main", 0},
                                                   {FRAME_NAMED, NULL, NULL, "work", 0}};
    const struct resolved_sample sample = {.event = EVENT_CPU,
                                           .time = time,
                                           .pid = 10,
                                           .tid = 10,
                                           .process_serial = 1,
                                           .comm = "worker",
                                           .thread_name = "worker",
                                           .frames = frames,
                                           .frame_count = 2};

    for (; f->pending > 0; f->pending--)
        visit(arg, &sample);
}

static struct mono drain(struct source *s, struct mono now, source_visit *visit, void *arg)
{
    const struct mono until = {now.ns - FAKE_LAG_NS};

    hand_over(from(s), until, visit, arg);
    return until;
}

static void stop(struct source *s, enum event event, struct mono now, source_visit *visit,
                 void *arg)
{
    struct fake_source *f = from(s);

    (void)event;
    (void)now;
    f->clock_ns += FAKE_CPUS * mono_since(f->now, f->running_since);
    f->running = false;
    f->stops++;
    hand_over(f, f->now, visit, arg);
}

static void read_counters(struct source *s, enum event event, struct sample_counters *out)
{
    const struct fake_source *f = from(s);

    (void)event;
    *out = (struct sample_counters){.clock_ns = f->clock_ns, .cpus = FAKE_CPUS};
    if (f->running)
        out->clock_ns += FAKE_CPUS * mono_since(f->now, f->running_since);
    out->lost[LOSS_RING] = f->lost_in_ring;
}

static void read_cost(struct source *s, struct agent_cost *cost)
{
    cost->bpf_ns = from(s)->clock_ns / 1000;
}

static enum status make_table(const struct fake_source *f, struct symtab *out)
{
    char name[64];

    for (uint32_t i = 0; i < f->symbols; i++) {
        /* names that zstd cannot make small: large tables are the point */
        (void)snprintf(name, sizeof(name), "f%llx",
                       (unsigned long long)(i * UINT64_C(0x9e3779b97f4a7c15) ^ (i >> 3)));
        if (symtab_add(out, UINT64_C(16) * i, 16, name) != ST_OK)
            return ST_NOMEM;
    }
    symtab_sort(out);
    return ST_OK;
}

static enum status run_symbols(struct symbol_job *job, int *out_fd, char why[SYMBOL_WHY_MAX])
{
    const struct fake_source *f = job->data;
    struct symtab table = {0};
    struct blob packed = {0};
    int fd = memfd_create("fake", MFD_CLOEXEC);
    enum status st = f->fail_reading || fd < 0 ? ST_INVALID : make_table(f, &table);

    if (f->why_reading != NULL)
        (void)snprintf(why, SYMBOL_WHY_MAX, "%s", f->why_reading);
    if (st == ST_OK)
        st = symtab_encode(&table, &packed);
    if (st == ST_OK && write(fd, packed.bytes, packed.length) != (ssize_t)packed.length)
        st = ST_IO;
    if (st == ST_OK)
        *out_fd = fd;
    else
        close(fd);
    blob_deinit(&packed);
    symtab_deinit(&table);
    return st;
}

static void cancel_symbols(struct symbol_job *job)
{
    ((struct fake_source *)job->data)->cancelled++;
}

static void close_symbols(struct symbol_job *job)
{
    ((struct fake_source *)job->data)->closed++;
}

static enum status open_symbols(struct source *s, const struct build_id *id, struct symbol_job *out)
{
    struct fake_source *f = from(s);

    if (f->lack_symbols)
        return ST_NOT_FOUND;
    f->opened++;
    *out = (struct symbol_job){*id, f, run_symbols, cancel_symbols, close_symbols};
    return ST_OK;
}

static const char *degraded(const struct source *s)
{
    (void)s;
    return "";
}

static void close_source(struct source *s)
{
    (void)s; /* the test's */
}

void fake_source_init(struct fake_source *f, struct mono now)
{
    static const struct source_operations operations = {
        .start = start,
        .set_period = set_period,
        .drain = drain,
        .stop = stop,
        .read_counters = read_counters,
        .read_cost = read_cost,
        .open_symbols = open_symbols,
        .degraded = degraded,
        .close = close_source,
    };

    memset(f, 0, sizeof(*f));
    f->base = (struct source){.operations = &operations, .whole_host = true, .cpus = FAKE_CPUS};
    f->now = now;
}
