/* A window is what lies between two states of the world: the one it began with, and the one that
 * comes with the cut. */
#include "agent/profiler.h"

#include <stdlib.h>

struct profiler {
    struct profiler_options options;
    struct aggregate *aggregate; /* of the open window */
    struct profiler_now
        start; /* of the open window; its counters are those of the last cut tried */
    struct mono cut; /* when it was tried last */
    struct agent_cost told; /* what the agent had cost when the last chunk was cut */
    uint64_t period_ns;
    uint64_t sequence; /* of the last chunk cut */
    uint64_t delivered; /* in all chunks cut */
    struct ledger untold; /* of windows that no chunk came of; nothing of it was delivered */
};

enum status profiler_new(const struct profiler_options *options, const struct profiler_now *now,
                         struct profiler **out)
{
    enum status st = ST_NOMEM;
    struct profiler *p = calloc(1, sizeof(*p));

    if (p == NULL)
        goto out;
    st = aggregate_new(&p->aggregate);
    if (st != ST_OK)
        goto out;
    p->options = *options;
    p->start = *now;
    p->cut = now->mono;
    p->told = now->cost;
    p->period_ns = options->item.period_ns;

    *out = p;
    p = NULL;
out:
    profiler_free(p);
    return st;
}

void profiler_free(struct profiler *p)
{
    if (p == NULL)
        return;
    aggregate_free(p->aggregate);
    free(p);
}

struct id128 profiler_id(const struct profiler *p)
{
    return p->options.item.profiler;
}

enum event profiler_event(const struct profiler *p)
{
    return p->options.item.event;
}

uint64_t profiler_period_ns(const struct profiler *p)
{
    return p->period_ns;
}

uint64_t profiler_sequence(const struct profiler *p)
{
    return p->sequence;
}

uint64_t profiler_samples(const struct profiler *p)
{
    return p->delivered + aggregate_samples(p->aggregate);
}

void profiler_add(struct profiler *p, const struct resolved_sample *sample)
{
    (void)aggregate_add(p->aggregate, sample); /* the aggregate counts what it refuses */
}

bool profiler_is_due(const struct profiler *p, struct mono now)
{
    return mono_since(now, p->cut) >= p->options.item.chunk_ns;
}

void profiler_set_period(struct profiler *p, uint64_t period_ns)
{
    p->period_ns = period_ns;
}

/* ---- the ledger and the cost of a window ---- */

/* Counters of a source that was opened anew start over: nothing is known of the time between. */
static uint64_t since(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

static uint64_t rounded_ratio(uint64_t clock_ns, uint64_t period_ns)
{
    return clock_ns / period_ns + (clock_ns % period_ns > period_ns / 2 ? 1 : 0);
}

/* What the clocks say beyond what was seen is idle time on a whole host. A cgroup's clocks run only
 * with it: there it is the rounding of a period on each CPU. Where more was seen, that is right. */
static struct ledger ledger_of(const struct profiler *p, const struct sample_counters *now)
{
    const struct sample_counters *then = &p->start.counters;
    struct ledger l = {.delivered = aggregate_samples(p->aggregate),
                       .skipped = since(now->skipped, then->skipped)};
    uint64_t clock, seen;

    for (unsigned i = 0; i < LOSS_KINDS; i++)
        l.lost[i] = since(now->lost[i], then->lost[i]);
    l.lost[LOSS_TABLE] += aggregate_refused(p->aggregate);
    clock = rounded_ratio(since(now->clock_ns, then->clock_ns), p->period_ns);
    seen = l.delivered + l.skipped + ledger_lost(&l);
    if (p->options.whole_host)
        l.idle = since(clock, seen);
    l.expected = seen + l.idle;
    ledger_add(&l, &p->untold);
    return l;
}

static struct agent_cost cost_of(const struct agent_cost *now, const struct agent_cost *then)
{
    return (struct agent_cost){
        .user_ns = since(now->user_ns, then->user_ns),
        .system_ns = since(now->system_ns, then->system_ns),
        .bpf_ns = since(now->bpf_ns, then->bpf_ns),
        .bpf_runs = since(now->bpf_runs, then->bpf_runs),
        .bytes_sent = since(now->bytes_sent, then->bytes_sent),
        .rss_bytes = now->rss_bytes,
        .kernel_map_bytes = now->kernel_map_bytes,
    };
}

/* Returns what is still over. */
static uint64_t take_off(struct ledger *l, uint64_t *from, uint64_t over)
{
    uint64_t part = over < *from ? over : *from;

    *from -= part;
    l->expected -= part;
    return over - part;
}

/* After a stall the window is shorter than the time since the last cut, and less can lie in it.
 * What is over was before it: idle time first, losses last. The coordinator counts that time as
 * uncovered. */
static void fit_ledger(struct chunk_info *info)
{
    struct ledger *l = &info->ledger;
    uint64_t over = since(l->expected, chunk_expected_max(info));

    over = take_off(l, &l->idle, over);
    over = take_off(l, &l->skipped, over);
    for (unsigned i = 0; i < LOSS_KINDS; i++)
        over = take_off(l, &l->lost[i], over);
}

/* ---- cutting ---- */

static struct chunk_info info_of(const struct profiler *p, const struct profiler_now *now,
                                 bool final)
{
    uint64_t length = mono_since(now->mono, p->start.mono);
    uint64_t late = since(length, CHUNK_WINDOW_MAX_NS); /* a host that stood still */

    return (struct chunk_info){
        .profiler = p->options.item.profiler,
        .sequence = p->sequence + 1,
        .incarnation = p->options.incarnation,
        .final = final,
        .start = mono_after(p->start.mono, late),
        .end = mono_after(p->start.mono, length),
        .wall_start = {p->start.wall.ns + late},
        .clock_offset_ns = now->clock_offset_ns,
        .event = p->options.item.event,
        .period_ns = p->period_ns,
        .inclusion = 1,
        .cpus = now->counters.cpus,
        .ledger = ledger_of(p, &now->counters),
        .cost = cost_of(&now->cost, &p->told),
        .walks = aggregate_walks(p->aggregate),
    };
}

/* The window's samples are gone: the next chunk says so, and reaches back over it, so that what its
 * samples stand for is spread over the time that they stand for. */
static void carry_over(struct profiler *p, const struct ledger *l,
                       const struct sample_counters *now)
{
    p->start.counters = *now;
    p->untold = *l;
    p->untold.lost[LOSS_TABLE] += l->delivered;
    p->untold.delivered = 0;
}

enum status profiler_cut(struct profiler *p, const struct profiler_now *now, bool final,
                         struct blob *out, uint32_t *out_samples)
{
    struct chunk c = {0};
    struct blob packed;
    enum status st;

    if (!final && mono_since(now->mono, p->start.mono) == 0)
        return ST_NOT_FOUND;
    c.info = info_of(p, now, final);
    fit_ledger(&c.info);
    st = aggregate_take(p->aggregate, c.info.start, c.info.end, &c);
    if (st == ST_OK)
        st = chunk_encode(&c, CHUNK_WIRE, &packed);
    p->cut = now->mono;
    if (st != ST_OK) {
        carry_over(p, &c.info.ledger, &now->counters);
        goto out;
    }
    p->start = *now;
    p->told = now->cost;
    p->untold = (struct ledger){0};
    p->sequence++;
    p->delivered += c.samples.sample_count;
    *out = packed;
    *out_samples = c.samples.sample_count;
out:
    chunk_deinit(&c);
    return st;
}
