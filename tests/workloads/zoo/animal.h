/* animal - what the programs of the zoo have in common: they say that they are ready, and run their
 * one stack over and over for as many seconds as they are told. */
#ifndef WORKLOADS_ZOO_ANIMAL_H
#define WORKLOADS_ZOO_ANIMAL_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { SPIN_STEPS = 200000 }; /* some 200 us: the leaf has nearly all of the time */

static volatile uint64_t animal_sink;

static inline double animal_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What every leaf does. */
static inline void animal_spin(void)
{
    uint64_t x = animal_sink;

    for (int i = 0; i < SPIN_STEPS; i++)
        x = x * 6364136223846793005u + 144269u;
    animal_sink = x;
}

/* Calls `stack` until the seconds in `text` have passed. */
static inline int animal_live(const char *text, void (*stack)(void))
{
    double end = animal_now() + strtod(text, NULL);

    puts("ready");
    (void)fflush(stdout);
    while (animal_now() < end)
        stack();
    return 0;
}

#endif
