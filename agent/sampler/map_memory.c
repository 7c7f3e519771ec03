#include "agent/sampler/map_memory.h"

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdio.h>

enum { FDINFO_LINE_MAX = 128 };

uint64_t map_memory_of(int map_fd)
{
    char path[64], line[FDINFO_LINE_MAX];
    uint64_t bytes = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
            break;
    fclose(f);
    return bytes;
}

uint64_t map_memory(const struct bpf_object *object)
{
    struct bpf_map *map;
    uint64_t bytes = 0;

    bpf_object__for_each_map(map, object)
    {
        bytes += map_memory_of(bpf_map__fd(map));
    }
    return bytes;
}
