/* profile - one walk over the chunks of a scope sums samples by (leaf, task, slice) for each host;
 * at the end the slices of hosts that were observed get dense numbers: the replicates. */
#include "coordinator/query/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"
#include "coordinator/query/keys.h"
#include "coordinator/query/scope.h"
#include "coordinator/query/slices.h"
#include "coordinator/query/tasks.h"

/* Two chunks of a host seldom meet in a slice, unless slices are long. So cells are only gathered,
 * and summed up whenever they have doubled, which bounds the memory. */
struct host_cells {
    struct profile_cell *cells; /* `replicate` is the slice until they are handed over */
    uint32_t count, capacity;
    uint32_t limit; /* sum up before there are more */
    bool wanted; /* its labels match, or those of a process that was sampled */
};

enum { CELLS_GATHERED_MIN = 1 << 16 }; /* 1.5 MiB */

struct collector {
    const struct dictionary *dictionary;
    struct scope scope;
    struct slices slices;
    struct pieces pieces; /* of the chunk at hand */
    struct tasks tasks;
    struct host_cells *hosts; /* by host of the scope */
    uint32_t host_count;
    double inclusion_min;
    struct coverage coverage;
    char *why;
};

static void host_cells_deinit(struct host_cells *h)
{
    free(h->cells);
    h->cells = NULL;
}

static void collector_deinit(struct collector *c)
{
    for (uint32_t i = 0; i < c->host_count; i++)
        host_cells_deinit(&c->hosts[i]);
    free(c->hosts);
    scope_deinit(&c->scope);
    pieces_deinit(&c->pieces);
    tasks_deinit(&c->tasks);
}

/* ---- the walk ---- */

struct group_in { /* one group of a chunk, and what its samples are worth */
    const uint32_t *ticks;
    uint32_t count, leaf, task;
    double weight_ns;
};

/* Adds up cells of equal leaf, task and slice. */
static enum status sum_up(struct host_cells *h)
{
    struct keys keys = {0};
    enum status st = ST_OK;

    for (uint32_t i = 0; i < h->count && st == ST_OK; i++) {
        const struct profile_cell cell = h->cells[i];
        uint32_t known = keys.count, number;

        st = keys_put(&keys, (struct key){key_pair(cell.leaf, cell.task), cell.replicate}, &number);
        if (st == ST_OK && number == known)
            h->cells[number] = cell; /* at or before i */
        else if (st == ST_OK) {
            h->cells[number].samples += cell.samples;
            h->cells[number].weight_ns += cell.weight_ns;
        }
    }
    h->count = keys.count;
    h->limit = 2 * h->count > CELLS_GATHERED_MIN ? 2 * h->count : CELLS_GATHERED_MIN;
    keys_deinit(&keys);
    return st;
}

static enum status add_cell(struct host_cells *h, const struct group_in *g, uint32_t slice,
                            uint32_t samples)
{
    enum status st = h->count >= h->limit ? sum_up(h) : ST_OK;

    if (st == ST_OK)
        st = array_reserve(&h->cells, &h->capacity, h->count, sizeof(*h->cells));
    if (st == ST_OK)
        h->cells[h->count++] = (struct profile_cell){.leaf = g->leaf,
                                                     .task = g->task,
                                                     .replicate = slice,
                                                     .samples = samples,
                                                     .weight_ns = samples * g->weight_ns};
    return st;
}

/* Ticks ascend and so do pieces: both are walked once. */
static enum status add_group(struct collector *c, struct host_cells *h, const struct group_in *g)
{
    enum status st = ST_OK;
    uint32_t i = 0;

    for (uint32_t k = 0; k < c->pieces.count && i < g->count && st == ST_OK; k++) {
        const struct piece *piece = &c->pieces.items[k];
        uint32_t first;

        while (i < g->count && g->ticks[i] < piece->from)
            i++;
        for (first = i; i < g->count && g->ticks[i] < piece->to;)
            i++;
        if (i == first)
            continue;
        c->coverage.samples += i - first;
        st = add_cell(h, g, piece->slice, i - first);
    }
    return st;
}

static enum status add_samples(struct collector *c, const struct chunk *chunk, struct host_cells *h)
{
    const struct chunk_samples *s = &chunk->samples;
    struct group_in g = {.ticks = s->ticks, .weight_ns = chunk_sample_weight(&chunk->info)};
    enum status st = ST_OK;

    for (uint32_t i = 0; i < s->group_count && st == ST_OK; i++) {
        g.count = s->groups[i].count;
        g.leaf = s->groups[i].leaf;
        g.task = c->tasks.of_thread[s->groups[i].thread];
        if (g.task != PROFILE_NONE)
            st = add_group(c, h, &g);
        g.ticks += g.count;
    }
    return st;
}

static uint64_t size_of(int64_t x) /* llabs has none for the smallest of all */
{
    return x < 0 ? -(uint64_t)x : (uint64_t)x;
}

static void note_chunk(struct collector *c, const struct chunk_info *info)
{
    struct coverage *v = &c->coverage;

    if (v->chunks == 0 || info->period_ns < v->period_min_ns)
        v->period_min_ns = info->period_ns;
    if (info->period_ns > v->period_max_ns)
        v->period_max_ns = info->period_ns;
    if (size_of(info->clock_offset_ns) > size_of(v->clock_offset_max_ns))
        v->clock_offset_max_ns = info->clock_offset_ns;
    if (info->inclusion < c->inclusion_min)
        c->inclusion_min = info->inclusion;
    v->chunks++;
    ledger_add(&v->ledger, &info->ledger);
    walks_add(&v->walks, &info->walks);
}

static enum status add_chunk(struct collector *c, const struct scope_profiler *p,
                             const struct chunk *chunk)
{
    bool any;
    enum status st = tasks_of_chunk(&c->tasks, c->dictionary, &c->scope, p, &chunk->samples, &any);

    if (st != ST_OK || !(any || p->matches))
        return st;
    c->hosts[p->host].wanted = true;
    note_chunk(c, &chunk->info);
    return add_samples(c, chunk, &c->hosts[p->host]);
}

static enum status visit_chunk(void *arg, const struct ledger_row *row, struct slice stored)
{
    struct collector *c = arg;
    const struct scope_profiler *p = scope_find(&c->scope, row->profiler);
    struct chunk chunk;
    const char *rule = NULL;
    enum status st;

    if (p == NULL)
        return ST_OK;
    st = slices_cut(&c->slices, &p->accepted, row->start, row->end, &c->pieces);
    if (st != ST_OK || c->pieces.count == 0)
        return st;
    st = chunk_decode(stored, CHUNK_STORED, &chunk, &rule);
    if (st != ST_OK) {
        snprintf(c->why, WINDOW_WHY_MAX, "chunk %" PRIu64 " of a profiler on %.80s is damaged: %s",
                 row->sequence, p->record.host, rule == NULL ? status_text(st) : rule);
        return st;
    }
    st = add_chunk(c, p, &chunk);
    chunk_deinit(&chunk);
    return st;
}

/* ---- before it: the slices ---- */

static enum status observe(const struct scope *scope, struct spans *out)
{
    enum status st = ST_OK;

    for (uint32_t i = 0; i < scope->profiler_count && st == ST_OK; i++) {
        if (scope_shows(scope, &scope->profilers[i]))
            st = spans_add_all(out, &scope->profilers[i].covered);
    }
    spans_merge(out);
    return st;
}

static enum status prepare(struct collector *c)
{
    struct spans observed = {0};
    enum status st = observe(&c->scope, &observed);

    if (st == ST_OK)
        slices_make(&observed, c->scope.from, c->scope.to, &c->slices);
    spans_deinit(&observed);
    c->hosts = calloc((size_t)c->scope.hosts.count + 1, sizeof(*c->hosts));
    if (c->hosts == NULL)
        return ST_NOMEM;
    c->host_count = c->scope.hosts.count;
    for (uint32_t h = 0; h < c->host_count; h++)
        c->hosts[h].limit = CELLS_GATHERED_MIN;
    for (uint32_t i = 0; i < c->scope.profiler_count; i++) {
        const struct scope_profiler *p = &c->scope.profilers[i];

        c->hosts[p->host].wanted |= p->matches && p->wanted.count > 0;
    }
    return st;
}

/* ---- after it: replicates and coverage ---- */

struct host_time {
    struct spans wanted, covered;
};

static enum status sum_host_times(const struct collector *c, struct host_time *times)
{
    enum status st = ST_OK;

    for (uint32_t i = 0; i < c->scope.profiler_count && st == ST_OK; i++) {
        const struct scope_profiler *p = &c->scope.profilers[i];

        if (!c->hosts[p->host].wanted)
            continue;
        st = spans_add_all(&times[p->host].wanted, &p->wanted);
        if (st == ST_OK)
            st = spans_add_all(&times[p->host].covered, &p->covered);
    }
    for (uint32_t h = 0; h < c->scope.hosts.count; h++) {
        spans_merge(&times[h].wanted);
        spans_merge(&times[h].covered);
    }
    return st;
}

/* Hosts, time covered over time wanted, and the time in which anything was observed. */
static enum status measure_coverage(struct collector *c, const struct host_time *times,
                                    struct profile *p)
{
    struct coverage *v = &c->coverage;
    struct spans observed = {0};
    double wanted = 0, covered = 0;
    enum status st = ST_OK;

    for (uint32_t h = 0; h < c->scope.hosts.count && st == ST_OK; h++) {
        v->hosts_wanted += c->hosts[h].wanted;
        v->hosts_covered += times[h].covered.count > 0;
        wanted += (double)spans_length(&times[h].wanted);
        covered += (double)spans_common(&times[h].wanted, &times[h].covered);
        st = spans_add_all(&observed, &times[h].covered);
    }
    spans_merge(&observed);
    v->covered_share = wanted > 0 ? covered / wanted : 0;
    v->from = c->scope.from;
    v->to = c->scope.to;
    p->window_ns = (double)spans_length(&observed);
    p->coverage = *v;
    spans_deinit(&observed);
    return st;
}

/* Numbers the replicates that were observed and fills `number` by host x slices + slice. */
static enum status number_replicates(const struct collector *c, const struct host_time *times,
                                     uint32_t *number, struct profile *p)
{
    uint32_t capacity = 0;

    for (uint32_t h = 0; h < c->scope.hosts.count; h++) {
        for (uint32_t s = 0; s < c->slices.count; s++) {
            uint64_t covered = spans_length_within(&times[h].covered, c->slices.bounds[s],
                                                   c->slices.bounds[s + 1]);

            if (covered == 0)
                continue;
            if (array_reserve(&p->replicates, &capacity, p->replicate_count,
                              sizeof(*p->replicates)) != ST_OK)
                return ST_NOMEM;
            number[h * c->slices.count + s] = p->replicate_count;
            p->replicates[p->replicate_count++] =
                (struct profile_replicate){.host = h, .slice = s, .covered_ns = (double)covered};
        }
    }
    return ST_OK;
}

/* Moves a host's cells to their places in the profile, by replicate: a counting sort. */
static void take_cells(const struct host_cells *h, const uint32_t *number, uint32_t slice_count,
                       struct profile *p)
{
    uint32_t next[PROFILE_SLICES + 1] = {0};

    for (uint32_t i = 0; i < h->count; i++)
        next[h->cells[i].replicate + 1]++;
    for (uint32_t s = 0; s < slice_count; s++)
        next[s + 1] += next[s];
    for (uint32_t i = 0; i < h->count; i++) {
        struct profile_cell cell = h->cells[i];
        uint32_t place = p->cell_count + next[cell.replicate]++;

        cell.replicate = number[cell.replicate];
        p->cells[place] = cell;
        p->weight_ns += cell.weight_ns;
        p->samples += cell.samples;
    }
    p->cell_count += h->count;
}

static enum status hand_over_cells(struct collector *c, const uint32_t *number, struct profile *p)
{
    size_t count = 0;

    for (uint32_t h = 0; h < c->scope.hosts.count; h++)
        count += c->hosts[h].count;
    if (count > UINT32_MAX)
        return ST_TOO_BIG;
    p->cells = calloc(count + 1, sizeof(*p->cells));
    if (p->cells == NULL)
        return ST_NOMEM;
    for (uint32_t h = 0; h < c->scope.hosts.count; h++) {
        take_cells(&c->hosts[h], number + (size_t)h * c->slices.count, c->slices.count, p);
        host_cells_deinit(&c->hosts[h]); /* two copies of a big fleet's cells would be many */
    }
    return ST_OK;
}

/* Every cell's replicate was observed, since its samples lie in accepted time of a chunk. */
static enum status hand_over(struct collector *c, const uint32_t *number, struct profile *p)
{
    enum status st = hand_over_cells(c, number, p);

    if (st != ST_OK)
        return st;
    p->tasks = calloc((size_t)c->tasks.keys.count + 1, sizeof(*p->tasks));
    if (p->tasks == NULL)
        return ST_NOMEM;
    p->task_count = c->tasks.keys.count;
    for (uint32_t i = 0; i < p->task_count; i++)
        p->tasks[i] = tasks_get(&c->tasks, i);
    p->host_count = texts_take(&c->scope.hosts, &p->hosts);
    p->service_count = texts_take(&c->tasks.services, &p->services);
    p->inclusion_min = c->inclusion_min;
    p->event = c->scope.event;
    return ST_OK;
}

static enum status finish(struct collector *c, struct profile *out)
{
    uint32_t hosts = c->scope.hosts.count;
    struct host_time *times = calloc((size_t)hosts + 1, sizeof(*times));
    uint32_t *number = calloc((size_t)hosts * c->slices.count + 1, sizeof(*number));
    struct profile p = {0};
    enum status st = times == NULL || number == NULL ? ST_NOMEM : sum_host_times(c, times);

    if (st == ST_OK)
        st = measure_coverage(c, times, &p);
    if (st == ST_OK)
        st = number_replicates(c, times, number, &p);
    if (st == ST_OK)
        st = hand_over(c, number, &p);
    for (uint32_t h = 0; h < hosts && times != NULL; h++) {
        spans_deinit(&times[h].wanted);
        spans_deinit(&times[h].covered);
    }
    free(times);
    free(number);
    if (st == ST_OK)
        *out = p;
    else
        profile_deinit(&p);
    return st;
}

enum status profile_collect(struct store_view *v, const struct window *w, struct profile *out,
                            char why[WINDOW_WHY_MAX])
{
    struct collector c = {.dictionary = store_view_dictionary(v), .inclusion_min = 1, .why = why};
    enum status st;

    why[0] = '\0';
    st = scope_resolve(v, w, &c.scope, why);
    if (st == ST_OK)
        st = prepare(&c);
    if (st == ST_OK)
        st = store_view_chunks(v, c.scope.from, c.scope.to, visit_chunk, &c);
    if (st == ST_OK)
        st = finish(&c, out);
    if (st != ST_OK && why[0] == '\0')
        snprintf(why, WINDOW_WHY_MAX, "the samples could not be read: %s", status_text(st));
    collector_deinit(&c);
    return st;
}

static void free_texts(char **texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void profile_deinit(struct profile *p)
{
    free_texts(p->hosts, p->host_count);
    free_texts(p->services, p->service_count);
    free(p->tasks);
    free(p->cells);
    free(p->replicates);
    memset(p, 0, sizeof(*p));
}
