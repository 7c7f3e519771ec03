/* recursion - recursion SECONDS DEPTH: a function that calls itself DEPTH deep, then the leaf. */
#include "tests/workloads/zoo/animal.h"

static int depth;

static NOINLINE void leaf(void)
{
    animal_spin();
}

static NOINLINE void recurse(int left)
{
    if (left > 1)
        recurse(left - 1);
    else
        leaf();
    animal_sink++; /* keeps the calls from becoming jumps */
}

static NOINLINE void stack(void)
{
    recurse(depth);
}

int main(int argc, char **argv)
{
    if (argc != 3 || (depth = atoi(argv[2])) < 1) {
        fprintf(stderr, "usage: recursion SECONDS DEPTH\n");
        return 2;
    }
    return animal_live(argv[1], stack);
}
