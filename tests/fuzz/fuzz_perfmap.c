/* Any bytes as the perf map that a process writes, in two parts. */
#include <string.h>

#include "agent/symbols/perfmap.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add(struct perfmap *p, struct slice text)
{
    size_t used = perfmap_add(p, text);

    require(used <= text.length);
    require(used == text.length || memchr(text.bytes + used, '\n', text.length - used) == NULL);
    require(perfmap_bytes(p) <= PERFMAP_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct perfmap *p;
    size_t first;

    if (size == 0 || perfmap_new(&p) != ST_OK)
        return 0;
    first = data[0] < size ? data[0] : size;
    add(p, (struct slice){data, first});
    add(p, (struct slice){data + first, size - first});
    for (uint64_t address = 0; address < 1 << 12; address += 64) {
        const char *name = perfmap_find(p, address);

        require(name == NULL || strlen(name) <= PERFMAP_NAME_MAX);
        (void)perfmap_has_trampolines(p, address, address + 64);
    }
    perfmap_free(p);
    return 0;
}
