/* ledger_report - one walk over the window's ledger rows fills a line for each profiler. */
#include "coordinator/query/ledger_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/scope.h"

struct sequences { /* of a profiler's chunks in the window */
    uint64_t first, last; /* 0 without chunks */
};

struct reporter {
    struct scope scope;
    struct ledger_line *lines; /* by profiler of the scope */
    struct sequences *sequences;
    uint32_t *cpus; /* of the last chunk */
};

/* What chunks say comes from other machines: a sum that does not fit stays at the top. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_cost(struct agent_cost *to, const struct agent_cost *c)
{
    to->user_ns = add(to->user_ns, c->user_ns);
    to->system_ns = add(to->system_ns, c->system_ns);
    to->bpf_ns = add(to->bpf_ns, c->bpf_ns);
    to->bpf_runs = add(to->bpf_runs, c->bpf_runs);
    to->bytes_sent = add(to->bytes_sent, c->bytes_sent);
    to->rss_bytes = c->rss_bytes > to->rss_bytes ? c->rss_bytes : to->rss_bytes;
    to->kernel_map_bytes =
        c->kernel_map_bytes > to->kernel_map_bytes ? c->kernel_map_bytes : to->kernel_map_bytes;
}

static void add_row(struct ledger_line *l, struct sequences *s, uint32_t *cpus,
                    const struct ledger_row *row)
{
    if (l->chunks == 0 || row->start.ns < l->from.ns)
        l->from = row->start;
    if (row->end.ns > l->to.ns)
        l->to = row->end;
    if (l->chunks == 0 || row->sequence < s->first)
        s->first = row->sequence;
    if (row->sequence >= s->last) {
        s->last = row->sequence;
        l->period_ns = row->period_ns;
        *cpus = row->cpus;
    }
    l->chunks++;
    l->final |= row->final;
    ledger_add(&l->ledger, &row->ledger);
    walks_add(&l->walks, &row->walks);
    add_cost(&l->cost, &row->cost);
}

static enum status visit_row(void *arg, const struct ledger_row *row)
{
    struct reporter *r = arg;
    const struct scope_profiler *p = scope_find(&r->scope, row->profiler);
    size_t i;

    if (p == NULL || spans_length_within(&p->accepted, row->start.ns, row->end.ns) == 0)
        return ST_OK;
    i = (size_t)(p - r->scope.profilers);
    add_row(&r->lines[i], &r->sequences[i], &r->cpus[i], row);
    return ST_OK;
}

static enum status visit_final(void *arg, const struct ledger_row *row)
{
    bool *final = arg;

    *final |= row->final;
    return ST_OK;
}

static uint64_t count_missing(const struct scope *s, const struct profiler_record *record,
                              const struct ledger_line *l, const struct sequences *q)
{
    bool begins = record->assigned.ns >= s->from.ns;
    bool ends = record->ended.ns > 0 && record->ended.ns <= s->to.ns;
    uint64_t first = begins || q->first == 0 ? 1 : q->first;
    uint64_t last = ends && record->last_sequence > q->last ? record->last_sequence : q->last;

    uint64_t numbers = last < first ? 0 : add(last - first, 1);

    if (l->chunks == 0 && !(begins && ends))
        return 0; /* not known which */
    return numbers > l->chunks ? numbers - l->chunks : 0;
}

static enum status finish_line(struct store_view *v, const struct reporter *r, uint32_t i,
                               struct ledger_line *l)
{
    const struct scope_profiler *p = &r->scope.profilers[i];
    enum status st = ST_OK;

    l->profiler = p->record.id;
    l->host = strdup(p->record.host);
    if (l->host == NULL)
        return ST_NOMEM;
    l->missing_chunks = count_missing(&r->scope, &p->record, l, &r->sequences[i]);
    l->uncovered_ns = spans_length(&p->wanted) - spans_common(&p->wanted, &p->told);
    if (l->period_ns > 0)
        l->uncovered_samples =
            (uint64_t)((double)l->uncovered_ns / (double)l->period_ns * r->cpus[i]);
    /* The final chunk of a profiler that has ended may lie past the window. */
    if (!l->final && p->record.ended.ns > 0)
        st = store_view_profiler(v, l->profiler, visit_final, &l->final);
    return st;
}

static int by_host_and_time(const void *a, const void *b)
{
    const struct ledger_line *x = a, *y = b;
    int order = strcmp(x->host, y->host);

    if (order != 0)
        return order;
    if (x->from.ns != y->from.ns)
        return x->from.ns < y->from.ns ? -1 : 1;
    return memcmp(x->profiler.bytes, y->profiler.bytes, sizeof(x->profiler.bytes));
}

/* Keeps the lines of hosts that match and that have chunks or should have. */
static enum status finish(struct store_view *v, struct reporter *r, struct ledger_report *out)
{
    enum status st = ST_OK;

    for (uint32_t i = 0; i < r->scope.profiler_count && st == ST_OK; i++) {
        const struct scope_profiler *p = &r->scope.profilers[i];
        struct ledger_line *l = &out->lines[out->line_count];

        if (!scope_shows(&r->scope, p) || (r->lines[i].chunks == 0 && p->wanted.count == 0))
            continue;
        *l = r->lines[i];
        out->line_count++;
        st = finish_line(v, r, i, l);
        ledger_add(&out->total, &l->ledger);
        walks_add(&out->walks, &l->walks);
        out->missing_chunks = add(out->missing_chunks, l->missing_chunks);
        out->uncovered_ns = add(out->uncovered_ns, l->uncovered_ns);
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the line owns its host, and `out` the line */
        out->uncovered_samples = add(out->uncovered_samples, l->uncovered_samples);
    }
    if (st == ST_OK)
        qsort(out->lines, out->line_count, sizeof(*out->lines), by_host_and_time);
    return st;
}

static enum status report(struct store_view *v, struct reporter *r, struct ledger_report *out)
{
    size_t count = (size_t)r->scope.profiler_count + 1;
    enum status st;

    r->lines = calloc(count, sizeof(*r->lines));
    r->sequences = calloc(count, sizeof(*r->sequences));
    r->cpus = calloc(count, sizeof(*r->cpus));
    out->lines = calloc(count, sizeof(*out->lines));
    if (r->lines == NULL || r->sequences == NULL || r->cpus == NULL || out->lines == NULL)
        return ST_NOMEM;
    st = store_view_ledger(v, r->scope.from, r->scope.to, visit_row, r);
    return st == ST_OK ? finish(v, r, out) : st;
}

enum status ledger_report(struct store_view *v, const struct window *w, struct ledger_report *out,
                          char why[WINDOW_WHY_MAX])
{
    struct ledger_report result = {0};
    struct reporter r = {0};
    enum status st;

    why[0] = '\0';
    st = scope_resolve(v, w, &r.scope, why);
    if (st == ST_OK)
        st = report(v, &r, &result);
    if (st != ST_OK && why[0] == '\0')
        snprintf(why, WINDOW_WHY_MAX, "the ledger could not be read: %s", status_text(st));
    scope_deinit(&r.scope);
    free(r.lines);
    free(r.sequences);
    free(r.cpus);
    if (st == ST_OK)
        *out = result;
    else
        ledger_report_deinit(&result);
    return st;
}

void ledger_report_deinit(struct ledger_report *r)
{
    for (uint32_t i = 0; i < r->line_count; i++)
        free(r->lines[i].host);
    free(r->lines);
    memset(r, 0, sizeof(*r));
}
