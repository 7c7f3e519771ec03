#include "agent/sampler/wait_sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampler/wait_program.h"
#include "agent/sampler/waits.h"

/* Walking over what is pending costs some us for each thread that waits. Up to so much of a long
 * wait's time may move over the edge of a window, to the next one. */
#define SETTLE_NS NS_PER_S

struct wait_sampler {
    struct sampler *sampler; /* borrowed */
    char *scope_cgroup;
    struct wait_program *program; /* NULL: never started */
    struct waits *waits;
    struct mono settled;
    uint64_t period_ns;
    uint64_t ends_lost; /* when it was last looked at */
    uint64_t lost_ns; /* the same */
    uint64_t lost_ring, lost_table; /* samples, so far */
    bool running, tables;
    sample_visit *visit; /* of the drain that runs */
    void *visit_arg;
};

enum status wait_sampler_new(const char *scope_cgroup, struct sampler *sampler,
                             struct wait_sampler **out)
{
    struct wait_sampler *w = calloc(1, sizeof(*w));
    enum status st = ST_NOMEM;

    if (w == NULL)
        goto out;
    w->sampler = sampler;
    if (scope_cgroup != NULL) {
        w->scope_cgroup = strdup(scope_cgroup);
        if (w->scope_cgroup == NULL)
            goto out;
    }
    st = waits_new(clock_mono().ns, &w->waits);
    if (st != ST_OK)
        goto out;
    *out = w;
    w = NULL;
out:
    wait_sampler_free(w);
    return st;
}

void wait_sampler_free(struct wait_sampler *w)
{
    if (w == NULL)
        return;
    wait_program_close(w->program);
    waits_free(w->waits);
    free(w->scope_cgroup);
    free(w);
}

/* ---- start and stop ---- */

static enum status load(struct wait_sampler *w, char why[SAMPLER_WHY_MAX])
{
    struct wait_program_options options = {
        .maps = sampler_maps(w->sampler),
        .ring_bytes = sampler_ring_bytes(w->sampler),
        .pid_namespace = sampler_pid_namespace(w->sampler),
        .walk = sampler_walk(w->sampler),
    };
    enum status st = ST_OK;

    if (w->scope_cgroup != NULL)
        st = cgroup_scope_read(w->scope_cgroup, &options.scope);
    if (st != ST_OK) {
        (void)snprintf(why, SAMPLER_WHY_MAX, "cgroup %.200s: %s", w->scope_cgroup, status_text(st));
        return st;
    }
    return wait_program_open(&options, &w->program, why);
}

enum status wait_sampler_start(struct wait_sampler *w, uint64_t period_ns,
                               char why[SAMPLER_WHY_MAX])
{
    enum status st = ST_OK;

    if (w->running)
        return ST_BAD_STATE;
    if (w->program == NULL)
        st = load(w, why);
    if (st != ST_OK)
        return st;
    w->period_ns = period_ns;
    waits_set_period(w->waits, period_ns);
    wait_program_use_tables(w->program, w->tables);
    st = wait_program_start(w->program);
    if (st != ST_OK)
        (void)snprintf(why, SAMPLER_WHY_MAX, "the scheduler's tracepoints: %s", status_text(st));
    w->running = st == ST_OK;
    return st;
}

enum status wait_sampler_set_period(struct wait_sampler *w, uint64_t period_ns)
{
    if (!w->running)
        return ST_BAD_STATE;
    w->period_ns = period_ns;
    waits_set_period(w->waits, period_ns);
    return ST_OK;
}

/* ---- draining ---- */

static void on_begin(void *arg, const struct abi_wait *wait, const struct sample *sample)
{
    (void)waits_begin(((struct wait_sampler *)arg)->waits, wait, sample); /* it counts */
}

static void on_end(void *arg, const struct abi_wait *wait)
{
    struct wait_sampler *w = arg;

    waits_end(w->waits, wait, w->visit, w->visit_arg);
}

static uint64_t since(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

/* With an end lost nobody can tell which of the pending waits go on: all are given up. */
static void look_for_losses(struct wait_sampler *w)
{
    struct wait_program_counters c;
    uint64_t lost;

    wait_program_read_counters(w->program, &c);
    lost = since(c.counts[ABI_WAIT_COUNTER_LOST_NS], w->lost_ns) / w->period_ns;
    w->lost_ring += lost;
    w->lost_ns += lost * w->period_ns;
    if (c.counts[ABI_WAIT_COUNTER_ENDS_LOST] == w->ends_lost)
        return;
    w->ends_lost = c.counts[ABI_WAIT_COUNTER_ENDS_LOST];
    w->lost_table += waits_read_counters(w->waits).pending;
    waits_forget(w->waits);
}

static void empty_ring(struct wait_sampler *w, sample_visit *visit, void *arg)
{
    const struct wait_visitor visitor = {on_begin, on_end, w};

    w->visit = visit;
    w->visit_arg = arg;
    wait_program_drain(w->program, &visitor);
    look_for_losses(w);
}

void wait_sampler_drain(struct wait_sampler *w, struct mono until, sample_visit *visit, void *arg)
{
    if (!w->running)
        return;
    empty_ring(w, visit, arg);
    if (mono_since(until, w->settled) < SETTLE_NS)
        return;
    w->settled = until;
    waits_settle(w->waits, until, visit, arg);
}

void wait_sampler_stop(struct wait_sampler *w, struct mono now, sample_visit *visit, void *arg)
{
    if (!w->running)
        return;
    wait_program_stop(w->program);
    empty_ring(w, visit, arg);
    waits_settle(w->waits, now, visit, arg);
    waits_forget(w->waits);
    w->running = false;
}

void wait_sampler_use_tables(struct wait_sampler *w, bool on)
{
    w->tables = on;
    if (w->program != NULL)
        wait_program_use_tables(w->program, on);
}

void wait_sampler_read_counters(struct wait_sampler *w, struct wait_sampler_counters *out)
{
    struct wait_program_counters c = {0};

    if (w->program != NULL)
        wait_program_read_counters(w->program, &c);
    *out = (struct wait_sampler_counters){
        .lost_ring = w->lost_ring,
        .lost_table = w->lost_table + waits_read_counters(w->waits).refused,
        .bpf_ns = c.bpf_ns,
        .bpf_runs = c.bpf_runs,
        .map_bytes = c.map_bytes,
    };
}
