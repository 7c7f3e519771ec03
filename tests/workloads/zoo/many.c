/* many - many SECONDS LIBRARY DIRECTORY: a process with more than 300 executable mappings.
 *
 * Copies LIBRARY (hop) 300 times into DIRECTORY, loads each copy, and nests calls through copies
 * from all over the address space before the leaf. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/workloads/zoo/animal.h"

enum { COPIES = 300, NESTED = 6 };

static void (*hops[COPIES])(void (*)(void *), void *);

static NOINLINE void leaf(void)
{
    animal_spin();
}

static NOINLINE void nest(void *argument)
{
    uintptr_t level = (uintptr_t)argument;

    if (level < NESTED)
        hops[level * (COPIES - 1) / (NESTED - 1)](nest, (void *)(level + 1));
    else
        leaf();
    animal_sink++;
}

static NOINLINE void stack(void)
{
    nest(NULL);
}

static int copy(const char *from, const char *to)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    struct stat info;
    int result = in >= 0 && out >= 0 && fstat(in, &info) == 0 &&
                         sendfile(out, in, NULL, (size_t)info.st_size) == info.st_size
                     ? 0
                     : -1;

    if (in >= 0)
        (void)close(in);
    if (out >= 0)
        (void)close(out);
    return result;
}

static int load_copy(const char *library, const char *directory, int number)
{
    char path[4096];
    void *handle, *symbol;

    (void)snprintf(path, sizeof(path), "%s/hop%d.so", directory, number);
    if (copy(library, path) != 0 || (handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) == NULL ||
        (symbol = dlsym(handle, "hop")) == NULL)
        return -1;
    *(void **)&hops[number] = symbol;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: many SECONDS LIBRARY DIRECTORY\n");
        return 2;
    }
    for (int i = 0; i < COPIES; i++)
        if (load_copy(argv[2], argv[3], i) != 0) {
            fprintf(stderr, "many: copy %d cannot be made or loaded\n", i);
            return 1;
        }
    return animal_live(argv[1], stack);
}
