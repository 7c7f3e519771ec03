/* rank - every row is estimated by self, since ranks have ranges over all of them; totals are only
 * summed for the rows that stay under the limit. */
#include "coordinator/query/rank.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/axes.h"
#include "coordinator/query/tally.h"

const char *rank_by_name(enum rank_by by)
{
    switch (by) {
#define X(NAME, text)    \
    case RANK_BY_##NAME: \
        return text;
        RANK_BY_LIST(X)
#undef X
    case RANK_BYS:
        break;
    }
    return "unknown";
}

static bool parse_one(const char *text, size_t length, enum rank_by *out)
{
    for (enum rank_by by = 0; by < RANK_BYS; by++) {
        if (strlen(rank_by_name(by)) == length && memcmp(rank_by_name(by), text, length) == 0) {
            *out = by;
            return true;
        }
    }
    return false;
}

enum status rank_by_parse(const char *text, enum rank_by by[RANK_DIMENSIONS_MAX],
                          uint32_t *out_count)
{
    enum rank_by parsed[RANK_DIMENSIONS_MAX];
    uint32_t count = 0;

    for (;; text++) {
        size_t length = strcspn(text, ",");

        if (count == RANK_DIMENSIONS_MAX || !parse_one(text, length, &parsed[count]))
            return ST_INVALID;
        for (uint32_t i = 0; i < count; i++) {
            if (parsed[i] == parsed[count])
                return ST_INVALID;
        }
        count++;
        text += length;
        if (*text == '\0')
            break;
    }
    memcpy(by, parsed, count * sizeof(*by));
    *out_count = count;
    return ST_OK;
}

/* ---- what a ranking is made from ---- */

struct line {
    uint32_t row; /* in the axes */
    struct estimate self;
    uint64_t samples;
};

struct sorting { /* lines by self, then total where it is known, then name */
    const struct axes *axes;
    const struct tally *total; /* NULL: not known */
};

struct ranker {
    struct axes axes;
    struct stacks stacks;
    struct tally self, total;
    struct estimator *estimator;
    struct line *lines;
    uint32_t line_count;
    double *lows, *highs; /* ascending limits of all lines' cores */
    uint8_t *kept; /* by row */
};

static void ranker_deinit(struct ranker *r)
{
    tally_deinit(&r->self);
    tally_deinit(&r->total);
    stacks_deinit(&r->stacks);
    axes_deinit(&r->axes);
    estimator_free(r->estimator);
    free(r->lines);
    free(r->lows);
    free(r->highs);
    free(r->kept);
}

static enum status sum_up(struct ranker *r, const struct profile *p, struct symbolizer *s,
                          const struct dictionary *d)
{
    enum status st = stacks_build(p, s, d, &r->stacks);

    if (st == ST_OK)
        st = tally_self(&r->axes, p, &r->stacks, &r->self);
    if (st == ST_OK)
        st = tally_number_rows(&r->axes, p, &r->stacks);
    if (st == ST_OK)
        st = estimator_new(p, &r->estimator);
    return st;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static enum status estimate_lines(struct ranker *r)
{
    uint32_t n = r->axes.rows.count;

    r->lines = calloc((size_t)n + 1, sizeof(*r->lines));
    r->lows = calloc((size_t)n + 1, sizeof(*r->lows));
    r->highs = calloc((size_t)n + 1, sizeof(*r->highs));
    r->kept = calloc((size_t)n + 1, sizeof(*r->kept));
    if (r->lines == NULL || r->lows == NULL || r->highs == NULL || r->kept == NULL)
        return ST_NOMEM;
    r->line_count = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct row_sum *sum = tally_row(&r->self, i);
        struct line *l = &r->lines[i];

        l->row = i;
        l->samples = sum->samples;
        l->self = estimate_item(r->estimator, sum->weights, sum->weight_count, sum->samples);
        r->lows[i] = l->self.cores_low;
        r->highs[i] = l->self.cores_high;
    }
    qsort(r->lows, n, sizeof(*r->lows), by_value);
    qsort(r->highs, n, sizeof(*r->highs), by_value);
    return ST_OK;
}

/* ---- order ---- */

static int compare_lines(const void *a, const void *b, void *arg)
{
    const struct line *x = a, *y = b;
    const struct sorting *s = arg;

    if (x->self.weight_ns != y->self.weight_ns)
        return x->self.weight_ns < y->self.weight_ns ? 1 : -1;
    if (s->total != NULL) {
        double of_x = tally_row(s->total, x->row)->weight_ns;
        double of_y = tally_row(s->total, y->row)->weight_ns;

        if (of_x != of_y)
            return of_x < of_y ? 1 : -1;
    }
    return axes_compare(s->axes, x->row, y->row);
}

static void sort_lines(struct ranker *r, uint32_t count, const struct tally *total)
{
    struct sorting s = {&r->axes, total};

    qsort_r(r->lines, count, sizeof(*r->lines), compare_lines, &s);
}

/* Brings the lines that are shown to the front, in order. Names decide between equal weights, and
 * a fleet has many; so only those that weigh as much as the last one shown are sorted. */
static enum status order_lines(struct ranker *r, uint32_t shown)
{
    double *weights = malloc(((size_t)r->line_count + 1) * sizeof(*weights)), least = 0;
    uint32_t front = 0;

    if (weights == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < r->line_count; i++)
        weights[i] = r->lines[i].self.weight_ns;
    qsort(weights, r->line_count, sizeof(*weights), by_value);
    if (shown > 0)
        least = weights[r->line_count - shown];
    free(weights);
    for (uint32_t i = 0; i < r->line_count; i++) {
        struct line line = r->lines[i];

        if (line.self.weight_ns < least)
            continue;
        r->lines[i] = r->lines[front];
        r->lines[front++] = line;
    }
    sort_lines(r, front, NULL);
    return ST_OK;
}

/* Totals of the rows that will be shown. Rows without self are in order of their totals, so once
 * the limit reaches them all totals are needed. */
static enum status sum_totals(struct ranker *r, const struct profile *p, uint32_t shown)
{
    bool all = shown > 0 && r->lines[shown - 1].samples == 0;
    enum status st;

    if (all)
        memset(r->kept, 1, r->line_count);
    for (uint32_t i = 0; i < shown; i++)
        r->kept[r->lines[i].row] = 1;
    if (!axes_have_code(&r->axes))
        return ST_OK; /* a stack is wholly of one service, host and thread */
    st = tally_total(&r->axes, p, &r->stacks, r->kept, &r->total);
    if (st == ST_OK && all)
        sort_lines(r, r->line_count, &r->total);
    return st;
}

/* ---- rows ---- */

/* How many of the ascending values lie under `x`, or at it as well. */
static uint32_t count_below(const double *values, uint32_t count, double x, bool or_at)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (values[middle] < x || (or_at && values[middle] == x))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows surely hotter have their low limit over this one's high; surely colder ones the reverse. */
static void set_ranks(const struct ranker *r, struct rank_row *row)
{
    uint32_t n = r->line_count;

    row->rank_low = 1 + n - count_below(r->lows, n, row->self.cores_high, true);
    row->rank_high = n - count_below(r->highs, n, row->self.cores_low, false);
}

static enum status fill_row(const struct ranker *r, const struct line *l, struct rank_row *row)
{
    const struct tally *totals = axes_have_code(&r->axes) ? &r->total : &r->self;
    const struct row_sum *total = tally_row(totals, l->row);

    row->self = l->self;
    row->self_samples = l->samples;
    row->total = estimate_item(r->estimator, total->weights, total->weight_count, total->samples);
    row->total_samples = total->samples;
    set_ranks(r, row);
    return axes_copy_texts(&r->axes, l->row, row->key, &row->binary);
}

static enum status fill_rows(const struct ranker *r, uint32_t shown, struct ranking *out)
{
    enum status st = ST_OK;

    out->rows = calloc((size_t)shown + 1, sizeof(*out->rows));
    if (out->rows == NULL)
        return ST_NOMEM;
    out->row_count = shown;
    out->rows_found = r->line_count;
    for (uint32_t i = 0; i < shown && st == ST_OK; i++)
        st = fill_row(r, &r->lines[i], &out->rows[i]);
    for (uint32_t i = shown; i < r->line_count; i++)
        out->folded_share += r->lines[i].self.share;
    return st;
}

enum status rank(const struct profile *p, struct symbolizer *s, const struct dictionary *d,
                 const enum rank_by *by, uint32_t by_count, uint32_t limit, struct ranking *out)
{
    struct ranking ranking = {.by_count = by_count};
    struct ranker r = {0};
    uint32_t shown = 0;
    enum status st = axes_init(&r.axes, s, d, by, by_count);

    if (st == ST_OK)
        st = sum_up(&r, p, s, d);
    if (st == ST_OK)
        st = estimate_lines(&r);
    if (st == ST_OK) {
        shown = limit == 0 || limit > r.line_count ? r.line_count : limit;
        st = order_lines(&r, shown);
    }
    if (st == ST_OK)
        st = sum_totals(&r, p, shown);
    if (st == ST_OK)
        st = fill_rows(&r, shown, &ranking);
    if (st == ST_OK)
        st = naming_measure(p, &r.stacks, s, &ranking.naming);
    ranker_deinit(&r);
    if (st != ST_OK) {
        ranking_deinit(&ranking);
        return st;
    }
    memcpy(ranking.by, by, by_count * sizeof(*by));
    *out = ranking;
    return ST_OK;
}

void ranking_deinit(struct ranking *r)
{
    for (uint32_t i = 0; i < r->row_count; i++) {
        for (uint32_t k = 0; k < RANK_DIMENSIONS_MAX; k++)
            free(r->rows[i].key[k]);
        free(r->rows[i].binary);
    }
    free(r->rows);
    memset(r, 0, sizeof(*r));
}
