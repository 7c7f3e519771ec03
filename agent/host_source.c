#include "agent/host_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/host_symbols.h"
#include "agent/process/pids.h"
#include "agent/process/process.h"
#include "agent/process/sideband.h"
#include "agent/resolve.h"
#include "agent/rights.h"
#include "agent/sampler/sampler.h"
#include "agent/sampler/wait_sampler.h"
#include "agent/sequencer.h"
#include "agent/symbols/kernel.h"
#include "agent/unwinding.h"

/* A record that carries a time is in its buffer this much later at most: the time is read at the
 * start of an interrupt handler that some 10 us later has written it. */
#define RECORD_DELAY_NS (2 * NS_PER_MS)

/* Both read a good part of /proc, some 20 ms; what they could miss in between is marked as such. */
#define KERNEL_REFRESH_NS (10 * NS_PER_S)
#define RESCAN_NS (10 * NS_PER_S)
/* The list of CPUs is a file as well, and read twice: at each drain it cost a tenth of all. */
#define FOLLOW_CPUS_NS (1 * NS_PER_S)

#define EVENT_BIT(event) (1u << (event))

struct host_source {
    struct source base;
    char *scope_cgroup;
    struct sampler *sampler;
    struct wait_sampler *waits;
    struct sideband *sideband; /* NULL between sessions */
    struct processes *processes;
    struct kernel_symbols *kernel;
    struct sequencer *sequencer;
    struct unwinding *unwinding; /* NULL between sessions, and where tables cannot be used */
    struct resolver resolver;
    struct mono refreshed, scanned, followed; /* the kernel's symbols; /proc; CPUs */
    uint32_t running; /* events, by EVENT_BIT */
    uint64_t events_lost; /* by the side-band, when /proc was read */
    char degraded[SAMPLER_WHY_MAX + SOURCE_WHY_MAX];
    struct mono drained; /* all until then has been handed over */
    bool last; /* run: nothing comes after it */
    source_visit *visit; /* during a drain */
    void *visit_arg;
};

static struct host_source *from(struct source *s)
{
    return (struct host_source *)s;
}

/* ---- start ---- */

static void use_tables(struct host_source *s, bool on)
{
    sampler_use_tables(s->sampler, on);
    wait_sampler_use_tables(s->waits, on);
}

static enum status open_tables(struct host_source *s)
{
    enum status st;

    if (sampler_walk(s->sampler) == SAMPLER_WALK_PLAIN)
        return ST_OK;
    st = unwinding_new(sampler_maps(s->sampler), s->processes, &s->unwinding);
    if (st == ST_OK)
        use_tables(s, true);
    s->base.eager = st == ST_OK; /* no process is known yet: each sample has a copy */
    return st;
}

static void close_tables(struct host_source *s)
{
    use_tables(s, false);
    unwinding_free(s->unwinding);
    s->unwinding = NULL;
}

/* What every event needs. In this order, so that every process is either in the scan or told of by
 * the side-band. */
static enum status look_at_processes(struct host_source *s, char why[SOURCE_WHY_MAX])
{
    enum status st;

    if (s->sideband != NULL)
        return ST_OK;
    st = sideband_open(&s->sideband);
    if (st != ST_OK) {
        (void)snprintf(why, SOURCE_WHY_MAX, "perf's process events: %s", status_text(st));
        return st;
    }
    s->events_lost = sequencer_read_counters(s->sequencer).events_refused; /* the other is new */
    st = processes_scan(s->processes, s->scope_cgroup);
    if (st == ST_OK)
        st = open_tables(s);
    if (st != ST_OK)
        (void)snprintf(why, SOURCE_WHY_MAX, "the processes: %s", status_text(st));
    return st;
}

static void look_away_unless_running(struct host_source *s)
{
    if (s->running != 0)
        return;
    close_tables(s);
    sideband_close(s->sideband);
    s->sideband = NULL;
}

static enum status start_clocks(struct host_source *s, enum event event, uint64_t period_ns,
                                char why[SOURCE_WHY_MAX])
{
    enum status st;

    switch (event) {
    case EVENT_CPU:
        st = sampler_start(s->sampler, period_ns);
        if (st != ST_OK)
            (void)snprintf(why, SOURCE_WHY_MAX, "the sampling clock: %s", status_text(st));
        return st;
    case EVENT_OFFCPU:
        return wait_sampler_start(s->waits, period_ns, why);
    case EVENT_NONE:
        break;
    }
    return ST_UNSUPPORTED;
}

static enum status start(struct source *base, enum event event, uint64_t period_ns,
                         char why[SOURCE_WHY_MAX])
{
    struct host_source *s = from(base);
    enum status st = look_at_processes(s, why);

    if (st == ST_OK)
        st = start_clocks(s, event, period_ns, why);
    if (st == ST_OK)
        s->running |= EVENT_BIT(event);
    look_away_unless_running(s);
    return st;
}

static enum status set_period(struct source *base, enum event event, uint64_t period_ns)
{
    struct host_source *s = from(base);

    return event == EVENT_CPU ? sampler_set_period(s->sampler, period_ns)
                              : wait_sampler_set_period(s->waits, period_ns);
}

/* ---- draining and stopping ---- */

static void queue_event(void *arg, const struct sideband_event *event)
{
    sequencer_add_event(((struct host_source *)arg)->sequencer, event);
}

static void queue_sample(void *arg, const struct sample *sample)
{
    sequencer_add_sample(((struct host_source *)arg)->sequencer, sample);
}

static void take_event(void *arg, const struct sideband_event *event)
{
    processes_apply(((struct host_source *)arg)->processes, event);
}

static void expect_sample(void *arg, const struct sample *sample)
{
    const struct host_source *s = arg;

    if (s->unwinding != NULL)
        unwinding_expect(s->unwinding, sample);
}

static bool take_sample(void *arg, const struct sample *sample)
{
    struct host_source *s = arg;
    struct sample whole = *sample;
    struct resolved_sample resolved;

    if (s->unwinding != NULL && !unwinding_take(s->unwinding, sample, s->last, &whole))
        return false;
    resolved = resolve(&s->resolver, &whole);
    s->visit(s->visit_arg, &resolved);
    return true;
}

/* Samples first: every event that is older than a sample in hand is then in its buffer. */
static void empty_buffers(struct host_source *s, struct mono until)
{
    sampler_drain(s->sampler, queue_sample, s);
    wait_sampler_drain(s->waits, until, queue_sample, s);
    sideband_drain(s->sideband, queue_event, s);
}

static struct mono run(struct host_source *s, struct mono until, source_visit *visit, void *arg)
{
    const struct sequencer_handler handler = {take_event, take_sample, expect_sample, s};

    s->visit = visit;
    s->visit_arg = arg;
    return sequencer_run(s->sequencer, until, &handler);
}

/* Events that the kernel had no room for are made up for by what /proc shows. */
static void make_up_for_lost_events(struct host_source *s, struct mono now)
{
    uint64_t lost = sideband_read_counters(s->sideband).lost +
                    sequencer_read_counters(s->sequencer).events_refused;

    if (lost == s->events_lost || mono_since(now, s->scanned) < RESCAN_NS)
        return;
    s->events_lost = lost;
    s->scanned = now;
    (void)processes_scan(s->processes, s->scope_cgroup); /* else: at the next loss */
}

static void add_degraded(struct host_source *s, const char *what)
{
    size_t used = strlen(s->degraded);

    if (what != NULL && what[0] != '\0')
        (void)snprintf(s->degraded + used, sizeof(s->degraded) - used, "%s%s", used > 0 ? "; " : "",
                       what);
}

/* What the bounds of the process table cost, in words: "" as a rule. */
static void add_refusals(struct host_source *s)
{
    struct processes_counters c = processes_read_counters(s->processes);
    char text[SOURCE_WHY_MAX];

    if (c.mappings_refused == 0 && c.evicted == 0)
        return;
    (void)snprintf(text, sizeof(text),
                   "limits of the process table: %" PRIu64 " mappings refused, %" PRIu64
                   " processes given up",
                   c.mappings_refused, c.evicted);
    add_degraded(s, text);
}

static void note_degraded(struct host_source *s)
{
    s->degraded[0] = '\0';
    add_degraded(s, sampler_degraded(s->sampler));
    add_degraded(s, kernel_degraded(s->kernel));
    add_degraded(s, rights_degraded());
    if (pids_view() == PIDS_NAMESPACE)
        add_degraded(s, "processes outside of the agent's pid namespace have no names: start it in "
                        "the host's (containers: --pid=host, hostPID)");
    add_refusals(s);
}

static void look_around(struct host_source *s, struct mono now)
{
    make_up_for_lost_events(s, now);
    if (mono_since(now, s->refreshed) < KERNEL_REFRESH_NS)
        return;
    s->refreshed = now;
    (void)kernel_symbols_refresh(s->kernel);
    note_degraded(s);
}

/* Right after a drain: what is left in the buffers of a CPU that went is dropped. */
static void follow_cpus(struct host_source *s, struct mono now)
{
    if (mono_since(now, s->followed) < FOLLOW_CPUS_NS)
        return;
    s->followed = now;
    (void)sampler_follow_cpus(s->sampler);
    (void)sideband_follow_cpus(s->sideband);
}

/* Before samples for tables that are done, after them for those that they want. */
static void keep_up_tables(struct host_source *s, struct mono now, struct mono seen)
{
    if (s->unwinding != NULL)
        unwinding_run(s->unwinding, now, seen);
}

static struct mono drain(struct source *base, struct mono now, source_visit *visit, void *arg)
{
    struct host_source *s = from(base);
    struct mono until = {now.ns - RECORD_DELAY_NS};

    if (s->sideband == NULL)
        return now;
    empty_buffers(s, until);
    follow_cpus(s, now);
    keep_up_tables(s, now, s->drained);
    until = s->drained = run(s, until, visit, arg);
    keep_up_tables(s, now, until);
    s->base.eager = s->unwinding != NULL && unwinding_is_flooded(s->unwinding);
    look_around(s, now);
    return until;
}

static void stop(struct source *base, enum event event, struct mono now, source_visit *visit,
                 void *arg)
{
    struct host_source *s = from(base);

    if ((s->running & EVENT_BIT(event)) == 0)
        return;
    if (event == EVENT_CPU)
        sampler_stop(s->sampler);
    else
        wait_sampler_stop(s->waits, now, queue_sample, s);
    empty_buffers(s, now);
    s->last = true;
    (void)run(s, (struct mono){UINT64_MAX}, visit, arg);
    s->last = false;
    s->running &= ~EVENT_BIT(event);
    look_away_unless_running(s);
}

/* ---- counters ---- */

/* Waiting has no clock that says how much of it there should be: what was seen is what is expected.
 */
static void read_wait_counters(struct host_source *s, struct sample_counters *out)
{
    struct wait_sampler_counters c;

    wait_sampler_read_counters(s->waits, &c);
    *out = (struct sample_counters){.cpus = s->base.cpus};
    out->lost[LOSS_RING] = c.lost_ring;
    out->lost[LOSS_TABLE] = c.lost_table;
}

static void read_counters(struct source *base, enum event event, struct sample_counters *out)
{
    struct host_source *s = from(base);
    struct sampler_counters c;

    if (event == EVENT_OFFCPU) {
        read_wait_counters(s, out);
        return;
    }
    sampler_read_counters(s->sampler, &c);
    *out = (struct sample_counters){.clock_ns = c.clock_ns, .cpus = c.cpus};
    out->lost[LOSS_RING] = c.counts[ABI_COUNTER_RING_FULL];
    out->lost[LOSS_SCRATCH] = c.counts[ABI_COUNTER_SCRATCH_BUSY];
    out->lost[LOSS_KERNEL] = c.kernel_missed;
    out->lost[LOSS_AGENT] = sequencer_read_counters(s->sequencer).samples_refused;
}

static void read_cost(struct source *base, struct agent_cost *cost)
{
    struct host_source *s = from(base);
    struct wait_sampler_counters w;
    struct sampler_counters c;

    sampler_read_counters(s->sampler, &c);
    wait_sampler_read_counters(s->waits, &w);
    cost->bpf_ns = c.bpf_ns + w.bpf_ns;
    cost->bpf_runs = c.bpf_runs + w.bpf_runs;
    cost->kernel_map_bytes = c.map_bytes + w.map_bytes;
    if (s->sideband != NULL)
        cost->kernel_map_bytes += sideband_read_counters(s->sideband).map_bytes;
    if (s->unwinding != NULL)
        cost->kernel_map_bytes += unwinding_read_counters(s->unwinding).bytes;
}

/* ---- symbols and health ---- */

static enum status open_symbols(struct source *base, const struct build_id *id,
                                struct symbol_job *out)
{
    struct host_source *s = from(base);

    return host_symbols_open(s->kernel, s->processes, id, out);
}

static const char *degraded(const struct source *base)
{
    return ((const struct host_source *)base)->degraded;
}

/* ---- open and close ---- */

static void host_source_close(struct source *base)
{
    struct host_source *s = from(base);

    unwinding_free(s->unwinding);
    wait_sampler_free(s->waits);
    sampler_close(s->sampler);
    sideband_close(s->sideband);
    sequencer_free(s->sequencer);
    processes_free(s->processes);
    kernel_symbols_close(s->kernel);
    free(s->scope_cgroup);
    free(s);
}

static enum status open_parts(struct host_source *s, const struct host_source_options *options,
                              char why[SOURCE_WHY_MAX])
{
    const struct sampler_options sampler = {.scope_cgroup = options->scope_cgroup,
                                            .ring_bytes = options->ring_bytes};
    const struct processes_options processes = {options->jit_bytes, options->disclosure};
    enum status st;

    if (pids_view() == PIDS_FOREIGN) {
        (void)snprintf(
            why, SOURCE_WHY_MAX,
            "/proc shows another pid namespace than the agent's own: mount its own there");
        return ST_UNSUPPORTED;
    }
    st = sampler_open(&sampler, &s->sampler, why);
    if (st != ST_OK)
        return st;
    st = wait_sampler_new(options->scope_cgroup, s->sampler, &s->waits);
    if (st == ST_OK)
        st = kernel_symbols_open(&s->kernel);
    if (st == ST_OK)
        st = processes_new(&processes, &s->processes);
    if (st == ST_OK)
        st = sequencer_new(&s->sequencer);
    if (st == ST_OK && options->scope_cgroup != NULL) {
        s->scope_cgroup = strdup(options->scope_cgroup);
        st = s->scope_cgroup == NULL ? ST_NOMEM : ST_OK;
    }
    if (st != ST_OK)
        (void)snprintf(why, SOURCE_WHY_MAX, "%s", status_text(st));
    return st;
}

enum status host_source_open(const struct host_source_options *options, struct source **out,
                             char why[SOURCE_WHY_MAX])
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
        .close = host_source_close,
    };
    struct host_source *s = calloc(1, sizeof(*s));
    enum status st;

    if (s == NULL)
        return ST_NOMEM;
    s->base.operations = &operations;
    s->base.whole_host = options->scope_cgroup == NULL;
    s->base.cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    st = open_parts(s, options, why);
    if (st != ST_OK) {
        host_source_close(&s->base);
        return st;
    }
    note_degraded(s);
    s->resolver.processes = s->processes;
    s->resolver.kernel = s->kernel;
    *out = &s->base;
    return ST_OK;
}
