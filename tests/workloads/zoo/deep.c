/* deep - a stack of more than 25 frames without frame pointers.
 *
 *   deep SECONDS user|kernel|vdso|signal|plt
 *
 * Small frames, one whose size is known only at run time, three of 1000 bytes, a shared library
 * that calls back and qsort lie between main and the leaf. The leaf spends its time as the second
 * argument says: in its own code, in the kernel, in the vdso, in a signal handler, in the PLT. */
#include <alloca.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/workloads/zoo/animal.h"
#include "tests/workloads/zoo/hop.h"

enum { READ_BYTES = 64 << 10, CLOCK_READS = 2000, SHORT_CALLS = 100000 };

static void (*leaf)(void);
static int zero_fd;
static char read_buffer[READ_BYTES];
static volatile size_t run_time_size = 200;

/* The address of a local that leaves the function keeps the local. */
static NOINLINE void keep(volatile void *p)
{
    animal_sink += (uintptr_t)p & 1;
}

/* ---- leaves ---- */

static NOINLINE void leaf_user(void)
{
    animal_spin();
}

static NOINLINE void leaf_kernel(void)
{
    for (int i = 0; i < 20; i++)
        animal_sink += (uint64_t)pread(zero_fd, read_buffer, READ_BYTES, 0);
}

static NOINLINE void leaf_vdso(void)
{
    struct timespec t;

    for (int i = 0; i < CLOCK_READS; i++)
        (void)clock_gettime(CLOCK_MONOTONIC, &t);
    animal_sink += (uint64_t)t.tv_nsec;
}

static NOINLINE void in_handler(void)
{
    animal_spin();
}

static void handler(int number)
{
    (void)number;
    in_handler();
    animal_sink++;
}

static NOINLINE void leaf_signal(void)
{
    (void)kill(getpid(), SIGUSR1);
    animal_sink++;
}

static NOINLINE void leaf_plt(void)
{
    unsigned x = (unsigned)animal_sink;

    for (int i = 0; i < SHORT_CALLS; i++)
        x = hop_short(x);
    animal_sink = x;
}

/* ---- the stack ---- */

#define LEVEL(name, next)           \
    static NOINLINE void name(void) \
    {                               \
        next();                     \
        animal_sink++;              \
    }

#define LEVEL_OF_1000_BYTES(name, next) \
    static NOINLINE void name(void)     \
    {                                   \
        volatile char bytes[1000];      \
                                        \
        keep(bytes);                    \
        next();                         \
        keep(bytes);                    \
    }

static NOINLINE void call_leaf(void)
{
    leaf();
    animal_sink++;
}

LEVEL(d20, call_leaf)
LEVEL(d19, d20)
LEVEL(d18, d19)
LEVEL(d17, d18)
LEVEL(d16, d17)

static int d15_compare(const void *a, const void *b)
{
    d16();
    return *(const int *)a > *(const int *)b;
}

static void d14_callback(void *argument)
{
    int pair[2] = {2, 1};

    (void)argument;
    qsort(pair, 2, sizeof(pair[0]), d15_compare);
    animal_sink += (uint64_t)pair[0];
}

static NOINLINE void d13(void)
{
    hop(d14_callback, NULL);
    animal_sink++;
}

LEVEL_OF_1000_BYTES(d12, d13)
LEVEL_OF_1000_BYTES(d11, d12)
LEVEL_OF_1000_BYTES(d10, d11)

static NOINLINE void d09_run_time_frame(void)
{
    volatile char *bytes = alloca(run_time_size);

    keep(bytes);
    d10();
    keep(bytes);
}

LEVEL(d08, d09_run_time_frame)
LEVEL(d07, d08)
LEVEL(d06, d07)
LEVEL(d05, d06)
LEVEL(d04, d05)
LEVEL(d03, d04)
LEVEL(d02, d03)
LEVEL(d01, d02)

static const struct mode {
    const char *name;
    void (*leaf)(void);
} modes[] = {
    {"user", leaf_user},     {"kernel", leaf_kernel}, {"vdso", leaf_vdso},
    {"signal", leaf_signal}, {"plt", leaf_plt},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[2], modes[i].name) == 0)
            leaf = modes[i].leaf;
    if (leaf == NULL) {
        fprintf(stderr, "usage: deep SECONDS user|kernel|vdso|signal|plt\n");
        return 2;
    }
    (void)signal(SIGUSR1, handler);
    zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    return zero_fd < 0 ? 1 : animal_live(argv[1], d01);
}
