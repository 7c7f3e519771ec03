/* victim - victim ROUNDS: the same work every time, 30 calls deep in code without frame pointers,
 * so that what it takes more of the CPU beside a profiler is what the profiler takes from it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 26, STEPS = 200000 }; /* with main and its callers 30; a round is some 200 us */

static volatile uint64_t sink;

static __attribute__((noinline, noclone)) void leaf(void)
{
    uint64_t x = sink;

    for (int i = 0; i < STEPS; i++)
        x = x * 6364136223846793005u + 144269u;
    sink = x;
}

static __attribute__((noinline, noclone)) void dig(int depth)
{
    if (depth > 1)
        dig(depth - 1);
    else
        leaf();
    sink++; /* keeps the calls from becoming jumps */
}

int main(int argc, char **argv)
{
    long rounds = argc == 2 ? strtol(argv[1], NULL, 10) : 0;

    if (rounds <= 0) {
        fprintf(stderr, "usage: victim ROUNDS\n");
        return 2;
    }
    for (long i = 0; i < rounds; i++)
        dig(DEPTH);
    return 0;
}
