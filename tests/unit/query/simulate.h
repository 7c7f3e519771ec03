/* simulate - random numbers for tests of statistics: seeded, the same on every machine. */
#ifndef TESTS_UNIT_QUERY_SIMULATE_H
#define TESTS_UNIT_QUERY_SIMULATE_H

#include <math.h>
#include <stdint.h>

struct random {
    uint64_t state;
};

static inline uint64_t random_bits(struct random *r) /* splitmix64 */
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline double random_unit(struct random *r) /* (0, 1) */
{
    return ((double)(random_bits(r) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double random_normal(struct random *r)
{
    return sqrt(-2 * log(random_unit(r))) * cos(2 * M_PI * random_unit(r));
}

/* Positive, with this mean; `spread` is the standard deviation over the mean. */
static inline double random_lognormal(struct random *r, double mean, double spread)
{
    double s2 = log1p(spread * spread);

    return mean * exp(sqrt(s2) * random_normal(r) - s2 / 2);
}

static inline uint32_t random_poisson(struct random *r, double mean)
{
    uint32_t n = 0;

    if (mean > 200) { /* near enough to the normal */
        double x = floor(mean + sqrt(mean) * random_normal(r) + 0.5);

        return x > 0 ? (uint32_t)x : 0;
    }
    for (double left = exp(-mean), product = random_unit(r); product > left; n++)
        product *= random_unit(r);
    return n;
}

#endif
