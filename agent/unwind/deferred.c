#include "agent/unwind/deferred.h"

#include <string.h>

#include "bpf/unwind_world.h"

struct place { /* where one walk finds things */
    const struct ranges *ranges;
    struct kernel_maps *maps;
    const struct abi_raw_stack *raw;
    struct abi_page first, further; /* filled in when asked for */
};

static int read_copy(void *arg, __u64 address, void *to, __u32 bytes)
{
    const struct abi_raw_stack *raw = ((const struct place *)arg)->raw;
    uint64_t into = address - raw->registers.sp;

    if (address < raw->registers.sp || into > raw->bytes || bytes > raw->bytes - into)
        return -1;
    memcpy(to, raw->stack + into, bytes);
    return 0;
}

static const struct abi_page *find_page(void *arg, __u32 pid, __u32 page)
{
    struct place *place = arg;
    struct abi_page *out = page == 0 ? &place->first : &place->further;

    (void)pid; /* the one whose ranges these are */
    if (place->ranges == NULL || page >= ranges_pages(place->ranges))
        return NULL;
    ranges_fill_page(place->ranges, page, out);
    return out;
}

static const struct abi_shard *find_shard(void *arg, __u32 shard)
{
    return kernel_maps_shard(((struct place *)arg)->maps, shard);
}

void deferred_walk(const struct publisher *p, struct kernel_maps *maps, uint32_t pid,
                   const struct abi_raw_stack *raw, struct deferred_walk *out)
{
    struct place place = {.ranges = publisher_ranges(p, pid), .maps = maps, .raw = raw};
    struct unwind_world world = {
        .read = read_copy, .page = find_page, .shard = find_shard, .arg = &place};
    struct unwound walk = unwind_world_walk(&world, pid, &raw->registers, (__u64 *)out->frames);

    out->count = walk.frames;
    out->end = (enum walk_end)walk.end;
}
