/* estimate - variances between replicates, item by item.
 *
 * Replicates are the units and hosts the strata. With x the item's weight in a unit, y everybody's
 * and t the time covered, the residuals are e = x - share * y for the share and x - (X/T) * t for
 * the cores, and a stratum of n units adds n/(n-1) * sum of (e - mean e)^2 to the variance of the
 * total (Cochran, Sampling Techniques, 6.4 and 5.12). An item has few units with x > 0, so sums of
 * squares are expanded: what does not depend on x is added up once for all items.
 *
 * A host with a single replicate is a unit of one pooled stratum instead; so is every host when the
 * hosts themselves are a sample. */
#include "coordinator/query/estimate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "coordinator/query/distribution.h"

struct stratum { /* sums over its units */
    uint32_t units;
    double y, yy, t, tt;
};

struct estimator {
    struct stratum *hosts; /* their replicates as units */
    struct stratum pooled; /* whole hosts as units */
    bool *is_pooled; /* by host */
    struct unit {
        uint32_t host;
        double y, t;
    } * replicates;
    uint32_t host_count, replicate_count, unit_count;
    double total, window_ns;
    uint64_t samples;
    /* Over all strata: sum of n/(n-1) * (yy - y*y/n), and of its square over n-1. */
    double base, base_square;
};

struct sums { /* over the units of a stratum where an item has weight */
    double x, xx, xy, xt;
};

struct variances { /* of the item's total, with what Satterthwaite's formula wants */
    double share, share_square, cores, cores_square;
};

static void add_unit(struct stratum *s, double y, double t)
{
    s->units++;
    s->y += y;
    s->yy += y * y;
    s->t += t;
    s->tt += t * t;
}

static void add_to_sums(struct sums *s, double x, double y, double t)
{
    s->x += x;
    s->xx += x * x;
    s->xy += x * y;
    s->xt += x * t;
}

/* The variance that a stratum adds for an item with residuals r * y, for r = 1. */
static double stratum_base(const struct stratum *s)
{
    double n = s->units;

    return s->units < 2 ? 0 : fmax(0, n / (n - 1) * (s->yy - s->y * s->y / n));
}

static void add_base(struct estimator *e, const struct stratum *s)
{
    double base = stratum_base(s);

    if (s->units < 2)
        return;
    e->base += base;
    e->base_square += base * base / (s->units - 1);
    e->unit_count += s->units;
}

static void fill_replicates(struct estimator *e, const struct profile *p)
{
    for (uint32_t i = 0; i < p->replicate_count; i++) {
        e->replicates[i].host = p->replicates[i].host;
        e->replicates[i].t = p->replicates[i].covered_ns;
    }
    for (uint32_t i = 0; i < p->cell_count; i++)
        e->replicates[p->cells[i].replicate].y += p->cells[i].weight_ns;
    for (uint32_t i = 0; i < p->replicate_count; i++)
        add_unit(&e->hosts[e->replicates[i].host], e->replicates[i].y, e->replicates[i].t);
}

static void fill_strata(struct estimator *e, bool hosts_are_a_sample)
{
    for (uint32_t h = 0; h < e->host_count; h++) {
        struct stratum *s = &e->hosts[h];

        e->is_pooled[h] = s->units == 1 || (s->units > 0 && hosts_are_a_sample);
        if (e->is_pooled[h])
            add_unit(&e->pooled, s->y, s->t);
        else
            add_base(e, s);
    }
    add_base(e, &e->pooled);
}

enum status estimator_new(const struct profile *p, struct estimator **out)
{
    struct estimator *e = calloc(1, sizeof(*e));

    if (e == NULL)
        goto fail;
    e->hosts = calloc((size_t)p->host_count + 1, sizeof(*e->hosts));
    e->is_pooled = calloc((size_t)p->host_count + 1, sizeof(*e->is_pooled));
    e->replicates = calloc((size_t)p->replicate_count + 1, sizeof(*e->replicates));
    if (e->hosts == NULL || e->is_pooled == NULL || e->replicates == NULL)
        goto fail;
    e->host_count = p->host_count;
    e->replicate_count = p->replicate_count;
    e->total = p->weight_ns;
    e->window_ns = p->window_ns;
    e->samples = p->samples;
    fill_replicates(e, p);
    fill_strata(e, p->inclusion_min < 1 && p->host_count > 1);
    *out = e;
    return ST_OK;
fail:
    estimator_free(e);
    return ST_NOMEM;
}

void estimator_free(struct estimator *e)
{
    if (e == NULL)
        return;
    free(e->hosts);
    free(e->is_pooled);
    free(e->replicates);
    free(e);
}

/* `v` starts as if the item were nowhere but had the share; a stratum where it is replaces its
 * part. */
static void add_stratum(struct variances *v, const struct stratum *s, const struct sums *in,
                        double share)
{
    double n = s->units, base = share * share * stratum_base(s);
    double residual = in->x - share * s->y, rate = s->t > 0 ? in->x / s->t : 0;
    double squares = in->xx - 2 * share * in->xy + share * share * s->yy;
    double of_share, of_cores;

    if (s->units < 2 || in->x <= 0)
        return;
    of_share = fmax(0, n / (n - 1) * (squares - residual * residual / n));
    of_cores = fmax(0, n / (n - 1) * (in->xx - 2 * rate * in->xt + rate * rate * s->tt));
    v->share += of_share - base;
    v->share_square += (of_share * of_share - base * base) / (n - 1);
    v->cores += of_cores;
    v->cores_square += of_cores * of_cores / (n - 1);
}

static struct variances variances_of(const struct estimator *e,
                                     const struct replicate_weight *weights, uint32_t count,
                                     double share)
{
    struct variances v = {.share = share * share * e->base,
                          .share_square = pow(share, 4) * e->base_square};
    struct sums pooled = {0};

    for (uint32_t i = 0; i < count;) {
        uint32_t host = e->replicates[weights[i].replicate].host;
        struct sums in = {0};

        for (; i < count && e->replicates[weights[i].replicate].host == host; i++) {
            const struct unit *u = &e->replicates[weights[i].replicate];

            add_to_sums(&in, weights[i].weight_ns, u->y, u->t);
        }
        if (e->is_pooled[host])
            add_to_sums(&pooled, in.x, e->hosts[host].y, e->hosts[host].t);
        else
            add_stratum(&v, &e->hosts[host], &in, share);
    }
    add_stratum(&v, &e->pooled, &pooled, share);
    /* What cancels out is zero, not the rounding errors that are left of it. */
    if (v.share <= share * share * e->base * 1e-9)
        v.share = v.share_square = 0;
    return v;
}

static double degrees_of(double variance, double square)
{
    return square > 0 ? fmax(1, variance * variance / square) : INFINITY;
}

/* Wilson's limits of a proportion that was seen in n independent trials. */
static void wilson(double p, double n, double t, double *low, double *high)
{
    double centre = (p + t * t / (2 * n)) / (1 + t * t / n);
    double half = t / (1 + t * t / n) * sqrt(p * (1 - p) / n + t * t / (4 * n * n));

    *low = fmax(0, fmin(p, centre - half));
    *high = fmin(1, fmax(p, centre + half));
}

static void set_share(struct estimate *out, const struct estimator *e, double variance,
                      double degrees, uint64_t samples)
{
    double n = (double)e->samples, binomial = out->share * (1 - out->share) / n;
    bool few = samples < ESTIMATE_SAMPLES_FEW || e->samples - samples < ESTIMATE_SAMPLES_FEW;
    double effective = n;

    if (e->unit_count < 2)
        variance = binomial;
    if (few)
        variance = fmax(variance, binomial);
    if (variance > binomial * DBL_EPSILON && binomial > 0)
        effective = n * binomial / variance;
    else if (!few)
        effective = n / DBL_EPSILON; /* the same share in every replicate */
    out->share_variance = variance;
    out->design_effect = binomial > 0 ? variance / binomial : 1;
    wilson(out->share, effective, student_quantile_95(degrees), &out->share_low, &out->share_high);
}

/* Wilson's limits as the proportion goes to zero: those of a Poisson count. */
static void set_cores(struct estimate *out, const struct estimator *e, double variance,
                      double degrees, uint64_t samples)
{
    double poisson = out->weight_ns * out->weight_ns / (double)samples;
    double t = student_quantile_95(degrees), events, centre, half;

    if (e->unit_count < 2)
        variance = poisson;
    if (samples < ESTIMATE_SAMPLES_FEW)
        variance = fmax(variance, poisson);
    variance = fmax(variance, poisson * DBL_EPSILON);
    events = out->weight_ns * out->weight_ns / variance;
    centre = events + t * t / 2;
    half = t * sqrt(events + t * t / 4);
    out->cores_low = out->cores * fmax(0, centre - half) / events;
    out->cores_high = out->cores * (centre + half) / events;
    out->cores_variance = variance / (e->window_ns * e->window_ns);
    out->cores_degrees = degrees;
}

/* Nothing was seen of it: only how much could have been missed is known. */
static void set_unseen(struct estimate *out, const struct estimator *e)
{
    out->cores_high = ESTIMATE_UNSEEN_EVENTS / (double)e->samples * e->total / e->window_ns;
    out->share_high = ESTIMATE_UNSEEN_EVENTS / ((double)e->samples + ESTIMATE_UNSEEN_EVENTS);
    out->design_effect = 1;
}

struct estimate estimate_item(const struct estimator *e, const struct replicate_weight *weights,
                              uint32_t count, uint64_t samples)
{
    struct estimate out = {.replicates = e->unit_count, .cores_degrees = INFINITY};
    struct variances v;

    if (e->samples == 0 || e->total <= 0 || e->window_ns <= 0)
        return out;
    if (samples == 0) {
        set_unseen(&out, e);
        return out;
    }
    for (uint32_t i = 0; i < count; i++)
        out.weight_ns += weights[i].weight_ns;
    out.cores = out.weight_ns / e->window_ns;
    out.share = fmin(1, out.weight_ns / e->total);
    v = variances_of(e, weights, count, out.share);
    set_share(&out, e, v.share / (e->total * e->total), degrees_of(v.share, v.share_square),
              samples);
    set_cores(&out, e, v.cores, degrees_of(v.cores, v.cores_square), samples);
    return out;
}

/* The thresholds shrink from q to the largest one that as many p values stand under as it takes:
 * the fixed point is the same as the textbook's step-up over sorted values. */
void estimate_discoveries(const double *p_values, uint32_t count, double q, uint8_t *keep)
{
    uint32_t standing = count, before;

    do {
        before = standing;
        standing = 0;
        for (uint32_t i = 0; i < count; i++)
            standing += keep[i] = p_values[i] <= q * before / count;
    } while (standing < before);
}
