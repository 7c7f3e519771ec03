/* trampoline - trampoline SECONDS: what CPython does with -X perf, without CPython.
 *
 * Each "Python function" is entered through 11 bytes of its own in anonymous executable memory,
 * which have no unwind information and keep no frame pointer, and is named in /tmp/perf-PID.map. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/workloads/zoo/animal.h"

enum { FUNCTIONS = 3, TRAMPOLINE_BYTES = 11, SLOT_BYTES = 16, AREA_BYTES = 64 << 10 };

/* As Python/asm_trampoline.S: sub $8,%rsp; call *%rcx; add $8,%rsp; ret */
static const unsigned char code[TRAMPOLINE_BYTES] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
                                                     0x48, 0x83, 0xc4, 0x08, 0xc3};
static const char *const names[FUNCTIONS] = {"outer", "middle", "inner"};

typedef void evaluator(void *thread, void *frame, int throwing);
typedef void entry(void *thread, void *frame, int throwing, evaluator *evaluate);

static unsigned char *area;

static NOINLINE void leaf(void)
{
    animal_spin();
}

static NOINLINE void evaluate(void *thread, void *frame, int level)
{
    if (level < FUNCTIONS) {
        entry *next;
        void *address = area + level * SLOT_BYTES;

        memcpy(&next, &address, sizeof(next));
        next(thread, frame, level + 1, evaluate);
    } else {
        leaf();
    }
    animal_sink++;
}

static NOINLINE void stack(void)
{
    evaluate(NULL, NULL, 0);
}

static int write_map(void)
{
    char path[64];
    FILE *map;

    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    map = fopen(path, "w");
    if (map == NULL)
        return -1;
    for (int i = 0; i < FUNCTIONS; i++)
        (void)fprintf(map, "%lx %x py::%s:/zoo/trampoline.py\n",
                      (unsigned long)(uintptr_t)(area + i * SLOT_BYTES), TRAMPOLINE_BYTES,
                      names[i]);
    return fclose(map);
}

int main(int argc, char **argv)
{
    char path[64];
    int result = 1;

    if (argc != 2) {
        fprintf(stderr, "usage: trampoline SECONDS\n");
        return 2;
    }
    area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return 1;
    for (int i = 0; i < FUNCTIONS; i++)
        memcpy(area + i * SLOT_BYTES, code, sizeof(code));
    if (mprotect(area, AREA_BYTES, PROT_READ | PROT_EXEC) == 0 && write_map() == 0)
        result = animal_live(argv[1], stack);
    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    (void)unlink(path);
    return result;
}
