#include "tests/workloads/zoo/hop.h"

static volatile unsigned hops;

static __attribute__((noinline)) void hop_inner(void (*callback)(void *), void *argument)
{
    callback(argument);
    hops++; /* keeps the call from becoming a jump */
}

void hop(void (*callback)(void *), void *argument)
{
    hop_inner(callback, argument);
    hops++;
}

unsigned hop_short(unsigned x)
{
    return x + 1;
}
