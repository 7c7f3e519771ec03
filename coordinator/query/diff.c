/* diff - both profiles are summed over the same axes, whose row numbers pair them. */
#include "coordinator/query/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/axes.h"
#include "coordinator/query/change.h"
#include "coordinator/query/tally.h"

const char *diff_verdict_name(enum diff_verdict v)
{
    switch (v) {
#define X(NAME, text) \
    case DIFF_##NAME: \
        return text;
        DIFF_VERDICT_LIST(X)
#undef X
    }
    return "unknown";
}

struct side {
    const struct profile *profile;
    struct stacks stacks;
    struct tally self;
    struct estimator *estimator;
};

struct line {
    uint32_t row; /* in the axes */
    struct estimate a, b;
    uint64_t a_samples, b_samples;
    struct change change;
    enum diff_verdict verdict;
};

struct comparison {
    struct axes axes;
    struct side a, b;
    struct line *lines; /* by row, until they are sorted */
    uint32_t line_count;
};

static void side_deinit(struct side *s)
{
    stacks_deinit(&s->stacks);
    tally_deinit(&s->self);
    estimator_free(s->estimator);
}

static void comparison_deinit(struct comparison *c)
{
    side_deinit(&c->a);
    side_deinit(&c->b);
    axes_deinit(&c->axes);
    free(c->lines);
}

static enum status sum_up(struct axes *x, struct side *s)
{
    enum status st = stacks_build(s->profile, x->symbolizer, x->dictionary, &s->stacks);

    if (st == ST_OK)
        st = tally_self(x, s->profile, &s->stacks, &s->self);
    if (st == ST_OK)
        st = estimator_new(s->profile, &s->estimator);
    return st;
}

static struct estimate estimate_row(const struct side *s, uint32_t row, uint64_t *out_samples)
{
    const struct row_sum *sum = tally_row(&s->self, row);

    *out_samples = sum->samples;
    return estimate_item(s->estimator, sum->weights, sum->weight_count, sum->samples);
}

/* ---- verdicts ---- */

/* A side without any sample says nothing about any row: there may have been no one to look. */
static bool is_testable(const struct comparison *c, const struct line *l)
{
    return l->a_samples + l->b_samples >= DIFF_SAMPLES_MIN && c->a.profile->samples > 0 &&
           c->b.profile->samples > 0;
}

static enum diff_verdict name_change(const struct line *l)
{
    if (l->a_samples == 0)
        return DIFF_NEW;
    if (l->b_samples == 0)
        return DIFF_VANISHED;
    return l->change.cores > 0 ? DIFF_MORE : DIFF_LESS;
}

static enum status judge(struct comparison *c)
{
    double *p_values = malloc(((size_t)c->line_count + 1) * sizeof(*p_values));
    uint8_t *stands = malloc((size_t)c->line_count + 1);
    enum status st = p_values == NULL || stands == NULL ? ST_NOMEM : ST_OK;
    uint32_t tested = 0;

    if (st != ST_OK)
        goto out;
    for (uint32_t i = 0; i < c->line_count; i++) {
        if (is_testable(c, &c->lines[i]))
            p_values[tested++] = c->lines[i].change.p_value;
    }
    estimate_discoveries(p_values, tested, DIFF_FALSE_DISCOVERY_RATE, stands);
    tested = 0;
    for (uint32_t i = 0; i < c->line_count; i++) {
        struct line *l = &c->lines[i];

        if (!is_testable(c, l)) {
            l->verdict = DIFF_TOO_FEW;
            l->change.p_value = 1;
        } else if (stands[tested++]) {
            l->verdict = name_change(l);
        }
    }
out:
    free(p_values);
    free(stands);
    return st;
}

static enum status compare(struct comparison *c)
{
    c->lines = calloc((size_t)c->axes.rows.count + 1, sizeof(*c->lines));
    if (c->lines == NULL)
        return ST_NOMEM;
    c->line_count = c->axes.rows.count;
    for (uint32_t i = 0; i < c->line_count; i++) {
        struct line *l = &c->lines[i];

        l->row = i;
        l->verdict = DIFF_NOISE;
        l->a = estimate_row(&c->a, i, &l->a_samples);
        l->b = estimate_row(&c->b, i, &l->b_samples);
        l->change = change_between(&l->a, l->a_samples, &l->b, l->b_samples);
    }
    return judge(c);
}

/* ---- rows ---- */

static bool stands_out(const struct line *l)
{
    return l->verdict != DIFF_NOISE && l->verdict != DIFF_TOO_FEW;
}

static int compare_lines(const void *a, const void *b, void *arg)
{
    const struct line *x = a, *y = b;
    double size_x = fabs(x->change.cores), size_y = fabs(y->change.cores);

    if (stands_out(x) != stands_out(y))
        return stands_out(x) ? -1 : 1;
    if (size_x != size_y)
        return size_x < size_y ? 1 : -1;
    return axes_compare(arg, x->row, y->row);
}

static enum status fill_row(const struct axes *x, const struct line *l, struct diff_row *row)
{
    row->a = l->a;
    row->b = l->b;
    row->a_samples = l->a_samples;
    row->b_samples = l->b_samples;
    row->cores_delta = l->change.cores;
    row->cores_delta_low = l->change.cores_low;
    row->cores_delta_high = l->change.cores_high;
    row->share_delta = l->b.share - l->a.share;
    row->p_value = l->change.p_value;
    row->verdict = l->verdict;
    return axes_copy_texts(x, l->row, row->key, &row->binary);
}

static enum status fill_rows(struct comparison *c, uint32_t limit, struct diff *out)
{
    uint32_t shown = limit == 0 || limit > c->line_count ? c->line_count : limit;
    enum status st = ST_OK;

    qsort_r(c->lines, c->line_count, sizeof(*c->lines), compare_lines, &c->axes);
    out->rows = calloc((size_t)shown + 1, sizeof(*out->rows));
    if (out->rows == NULL)
        return ST_NOMEM;
    out->row_count = shown;
    out->rows_found = c->line_count;
    for (uint32_t i = 0; i < shown && st == ST_OK; i++)
        st = fill_row(&c->axes, &c->lines[i], &out->rows[i]);
    return st;
}

enum status diff_profiles(const struct profile *a, const struct profile *b, struct symbolizer *s,
                          const struct dictionary *d, const enum rank_by *by, uint32_t by_count,
                          uint32_t limit, struct diff *out)
{
    struct comparison c = {.a.profile = a, .b.profile = b};
    struct diff diff = {.by_count = by_count};
    enum status st = axes_init(&c.axes, s, d, by, by_count);

    if (st == ST_OK)
        st = sum_up(&c.axes, &c.a);
    if (st == ST_OK)
        st = sum_up(&c.axes, &c.b);
    if (st == ST_OK)
        st = compare(&c);
    if (st == ST_OK)
        st = fill_rows(&c, limit, &diff);
    comparison_deinit(&c);
    if (st != ST_OK) {
        diff_deinit(&diff);
        return st;
    }
    memcpy(diff.by, by, by_count * sizeof(*by));
    *out = diff;
    return ST_OK;
}

void diff_deinit(struct diff *d)
{
    for (uint32_t i = 0; i < d->row_count; i++) {
        for (uint32_t k = 0; k < RANK_DIMENSIONS_MAX; k++)
            free(d->rows[i].key[k]);
        free(d->rows[i].binary);
    }
    free(d->rows);
    memset(d, 0, sizeof(*d));
}
