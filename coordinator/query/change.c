/* change - the interval is built from both sides' own (Zou and Donner's MOVER), so that it agrees
 * with what is shown of them and works where a side has nothing. The p value is Welch's; with few
 * events it is also asked how they would split by chance, and the more doubtful answer counts: a
 * variance that rests on a handful of samples is too often too small. */
#include "coordinator/query/change.h"

#include <math.h>

#include "coordinator/query/distribution.h"

/* Above so many effective events the split by chance has the normal's shape. */
static const double events_exact_max = 1000;

/* How many independent events an estimate is worth, and what it would see of `cores` in events. */
struct events {
    double count, per_core;
};

static struct events events_of(const struct estimate *e, uint64_t samples)
{
    struct events v = {.count = (double)samples};

    if (samples == 0) /* the high limit stands for so many events that were not seen */
        return (struct events){0, e->cores_high > 0 ? ESTIMATE_UNSEEN_EVENTS / e->cores_high : 0};
    if (e->cores_variance > 0)
        v.count = fmin(e->cores * e->cores / e->cores_variance, 1e12);
    v.per_core = v.count / e->cores;
    return v;
}

static double split_by_chance(struct events a, struct events b)
{
    if (a.count + b.count > events_exact_max || a.per_core <= 0 || b.per_core <= 0)
        return 0;
    return binomial_two_sided(a.count, b.count, a.per_core / (a.per_core + b.per_core));
}

static double welch(const struct estimate *a, const struct estimate *b)
{
    double variance = a->cores_variance + b->cores_variance, degrees;

    if (variance <= 0)
        return a->cores == b->cores ? 1 : 0;
    degrees = variance * variance /
              (a->cores_variance * a->cores_variance / a->cores_degrees +
               b->cores_variance * b->cores_variance / b->cores_degrees);
    return student_two_sided((b->cores - a->cores) / sqrt(variance), fmax(1, degrees));
}

struct change change_between(const struct estimate *a, uint64_t a_samples, const struct estimate *b,
                             uint64_t b_samples)
{
    struct change c = {.cores = b->cores - a->cores};

    c.cores_low = c.cores - hypot(b->cores - b->cores_low, a->cores_high - a->cores);
    c.cores_high = c.cores + hypot(b->cores_high - b->cores, a->cores - a->cores_low);
    c.p_value =
        fmax(welch(a, b), split_by_chance(events_of(a, a_samples), events_of(b, b_samples)));
    return c;
}
