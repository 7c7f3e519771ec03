/* rng - random test content that can be had again: the seed is printed, and taken from TEST_SEED.
 */
#ifndef TESTS_SUPPORT_RNG_H
#define TESTS_SUPPORT_RNG_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct rng {
    uint64_t state; /* never zero */
};

static inline struct rng rng_from(uint64_t seed)
{
    return (struct rng){seed * 2 + 1};
}

static inline struct rng rng_new(void)
{
    const char *text = getenv("TEST_SEED");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : (uint64_t)time(NULL);

    printf("# TEST_SEED=%llu\n", (unsigned long long)seed);
    return rng_from(seed);
}

static inline uint64_t rng_u64(struct rng *r) /* xorshift64* (Vigna 2016) */
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * UINT64_C(0x2545f4914f6cdd1d);
}

static inline uint32_t rng_below(struct rng *r, uint32_t limit) /* 0 for a limit of 0 */
{
    return limit > 0 ? (uint32_t)((rng_u64(r) >> 32) % limit) : 0;
}

#endif
