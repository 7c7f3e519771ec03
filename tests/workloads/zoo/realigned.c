/* realigned - realigned SECONDS: frames that need more than the plain rules.
 *
 * `aligned` realigns its stack for a local of 64 bytes and passes arguments on the stack, so the
 * compiler keeps the incoming stack pointer in r10 at first, then in the frame; it is also called
 * often, so that samples fall into its prologue. `wide` and `wider` have frames of 40 KB and 200
 * KB. */
#include "tests/workloads/zoo/animal.h"

static NOINLINE void keep(volatile void *p)
{
    animal_sink += (uintptr_t)p & 1;
}

static NOINLINE void leaf(void)
{
    animal_spin();
}

static NOINLINE void take_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
    animal_sink += (uint64_t)(a + b + c + d + e + f + g + h);
}

static __attribute__((noinline, noclone, force_align_arg_pointer)) void aligned(long seed,
                                                                                void (*next)(void))
{
    _Alignas(64) volatile long local[8] = {seed};

    keep(local);
    take_many(seed, 2, 3, 4, 5, 6, local[0], local[1]);
    if (next != NULL)
        next();
    animal_sink += (uint64_t)local[seed & 7];
}

static NOINLINE void wider(void)
{
    volatile char bytes[200 << 10];

    keep(bytes);
    leaf();
    keep(bytes);
}

static NOINLINE void wide(void)
{
    volatile char bytes[40 << 10];

    keep(bytes);
    wider();
    keep(bytes);
}

static NOINLINE void stack(void)
{
    for (int i = 0; i < 20000; i++)
        aligned(i, NULL);
    aligned(1, wide);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: realigned SECONDS\n");
        return 2;
    }
    return animal_live(argv[1], stack);
}
