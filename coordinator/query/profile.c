/* profile - one walk over the chunks of a scope sums samples by (leaf, task, replicate). While it
 * lasts a replicate is host x slices + slice; at the end those that were observed get dense
 * numbers.
 */
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

struct collector {
    const struct dictionary *dictionary;
    struct scope scope;
    struct slices slices;
    struct pieces pieces; /* of the chunk at hand */
    struct tasks tasks;
    struct keys keys; /* of the cells */
    struct profile_cell *cells;
    uint32_t cell_capacity;
    bool *host_wanted; /* its labels match, or those of a process that was sampled */
    double inclusion_min;
    struct coverage coverage;
    char *why;
};

/* ---- the walk ---- */

static enum status add_cell(struct collector *c, uint32_t leaf, uint32_t task, uint32_t replicate,
                            uint32_t samples, double weight_ns)
{
    struct key key = {key_pair(leaf, task), replicate};
    uint32_t known = c->keys.count, number;
    enum status st = array_reserve(&c->cells, &c->cell_capacity, known, sizeof(*c->cells));

    if (st == ST_OK)
        st = keys_put(&c->keys, key, &number);
    if (st != ST_OK)
        return st;
    if (number == known)
        c->cells[number] =
            (struct profile_cell){.leaf = leaf, .task = task, .replicate = replicate};
    c->cells[number].samples += samples;
    c->cells[number].weight_ns += weight_ns;
    return ST_OK;
}

struct group_in { /* one group of a chunk, and what its samples are worth */
    const uint32_t *ticks;
    uint32_t count, leaf, task, first_replicate;
    double weight_ns;
};

/* Ticks ascend and so do pieces: both are walked once. */
static enum status add_group(struct collector *c, const struct group_in *g)
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
        st = add_cell(c, g->leaf, g->task, g->first_replicate + piece->slice, i - first,
                      (i - first) * g->weight_ns);
    }
    return st;
}

static enum status add_samples(struct collector *c, const struct chunk *chunk, uint32_t host)
{
    const struct chunk_samples *s = &chunk->samples;
    struct group_in g = {.ticks = s->ticks,
                         .first_replicate = host * c->slices.count,
                         .weight_ns = chunk_sample_weight(&chunk->info)};
    enum status st = ST_OK;

    for (uint32_t i = 0; i < s->group_count && st == ST_OK; i++) {
        g.count = s->groups[i].count;
        g.leaf = s->groups[i].leaf;
        g.task = c->tasks.of_thread[s->groups[i].thread];
        if (g.task != PROFILE_NONE)
            st = add_group(c, &g);
        g.ticks += g.count;
    }
    return st;
}

static void note_chunk(struct collector *c, const struct chunk_info *info)
{
    struct coverage *v = &c->coverage;

    if (v->chunks == 0 || info->period_ns < v->period_min_ns)
        v->period_min_ns = info->period_ns;
    if (info->period_ns > v->period_max_ns)
        v->period_max_ns = info->period_ns;
    if (llabs(info->clock_offset_ns) > llabs(v->clock_offset_max_ns))
        v->clock_offset_max_ns = info->clock_offset_ns;
    if (info->inclusion < c->inclusion_min)
        c->inclusion_min = info->inclusion;
    v->chunks++;
    ledger_add(&v->ledger, &info->ledger);
}

static enum status add_chunk(struct collector *c, const struct scope_profiler *p,
                             const struct chunk *chunk)
{
    bool any;
    enum status st = tasks_of_chunk(&c->tasks, c->dictionary, &c->scope, p, &chunk->samples, &any);

    if (st != ST_OK || !(any || p->matches))
        return st;
    c->host_wanted[p->host] = true;
    note_chunk(c, &chunk->info);
    return add_samples(c, chunk, p->host);
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
    c->host_wanted = calloc((size_t)c->scope.hosts.count + 1, sizeof(*c->host_wanted));
    if (c->host_wanted == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < c->scope.profiler_count; i++) {
        const struct scope_profiler *p = &c->scope.profilers[i];

        c->host_wanted[p->host] |= p->matches && p->wanted.count > 0;
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

        if (!c->host_wanted[p->host])
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
        v->hosts_wanted += c->host_wanted[h];
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

/* A counting sort of the cells into `out`, by their final replicates. */
static enum status sort_cells(const struct collector *c, const uint32_t *number,
                              uint32_t replicate_count, struct profile_cell *out)
{
    uint32_t *next = calloc((size_t)replicate_count + 1, sizeof(*next));

    if (next == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < c->keys.count; i++)
        next[number[c->cells[i].replicate] + 1]++;
    for (uint32_t r = 0; r < replicate_count; r++)
        next[r + 1] += next[r];
    for (uint32_t i = 0; i < c->keys.count; i++) {
        struct profile_cell cell = c->cells[i];

        cell.replicate = number[cell.replicate];
        out[next[cell.replicate]++] = cell;
    }
    free(next);
    return ST_OK;
}

/* Hands over cells, hosts and services; every cell's replicate was observed, since its samples lie
 * in accepted time of a chunk. */
static enum status hand_over(struct collector *c, const uint32_t *number, struct profile *p)
{
    enum status st;

    p->tasks = calloc((size_t)c->tasks.keys.count + 1, sizeof(*p->tasks));
    p->cells = calloc((size_t)c->keys.count + 1, sizeof(*p->cells));
    if (p->tasks == NULL || p->cells == NULL)
        return ST_NOMEM;
    st = sort_cells(c, number, p->replicate_count, p->cells);
    if (st != ST_OK)
        return st;
    p->cell_count = c->keys.count;
    p->task_count = c->tasks.keys.count;
    for (uint32_t i = 0; i < p->task_count; i++)
        p->tasks[i] = tasks_get(&c->tasks, i);
    for (uint32_t i = 0; i < p->cell_count; i++) {
        p->weight_ns += p->cells[i].weight_ns;
        p->samples += p->cells[i].samples;
    }
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
    scope_deinit(&c.scope);
    pieces_deinit(&c.pieces);
    tasks_deinit(&c.tasks);
    keys_deinit(&c.keys);
    free(c.cells);
    free(c.host_wanted);
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
