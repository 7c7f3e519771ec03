#include "agent/unwind/regions.h"

#include <string.h>

static uint32_t blocks_of(uint32_t rows)
{
    return rows == 0 ? 1 : (rows + REGIONS_BLOCK_ROWS - 1) / REGIONS_BLOCK_ROWS;
}

/* The free blocks from `at` on, up to the next that is taken. */
static uint32_t hole_at(const bool *blocks, uint32_t at)
{
    uint32_t end = at;

    while (end < REGIONS_BLOCKS && !blocks[end])
        end++;
    return end - at;
}

struct hole {
    uint32_t shard, at, blocks; /* 0 blocks: none found */
};

static void look_in_shard(const struct regions *r, uint32_t shard, uint32_t wanted,
                          struct hole *best)
{
    uint32_t at = 0;

    while (at < REGIONS_BLOCKS) {
        uint32_t blocks = hole_at(r->blocks[shard], at);

        if (blocks >= wanted && (best->blocks == 0 || blocks < best->blocks))
            *best = (struct hole){shard, at, blocks};
        at += blocks + 1;
    }
}

static struct hole find_hole(const struct regions *r, uint32_t wanted)
{
    struct hole best = {0};

    for (uint32_t i = 0; i < r->shards_max; i++)
        if (regions_uses(r, i))
            look_in_shard(r, i, wanted, &best);
    for (uint32_t i = 0; i < r->shards_max && best.blocks == 0; i++)
        if (!regions_uses(r, i))
            look_in_shard(r, i, wanted, &best);
    return best;
}

enum status regions_take(struct regions *r, uint32_t count, struct region *out)
{
    uint32_t wanted = blocks_of(count);
    struct hole hole;

    if (count > ABI_SHARD_ROWS)
        return ST_TOO_BIG;
    hole = find_hole(r, wanted);
    if (hole.blocks == 0)
        return ST_FULL;
    memset(r->blocks[hole.shard] + hole.at, true, wanted);
    r->taken[hole.shard] += wanted;
    *out = (struct region){hole.shard, hole.at * REGIONS_BLOCK_ROWS, count};
    return ST_OK;
}

void regions_give_back(struct regions *r, struct region region)
{
    uint32_t blocks = blocks_of(region.count);

    memset(r->blocks[region.shard] + region.first / REGIONS_BLOCK_ROWS, false, blocks);
    r->taken[region.shard] -= blocks;
}

bool regions_uses(const struct regions *r, uint32_t shard)
{
    return r->taken[shard] > 0;
}
