/* regions - which rows of which shards are taken. Small tables share a shard; one of more than a
 * shard's rows takes several regions. Pure: knows nothing of what is in the rows. */
#ifndef AGENT_UNWIND_REGIONS_H
#define AGENT_UNWIND_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "common/status.h"

enum {
    REGIONS_SHARDS_MAX = 128, /* 64 MiB: 8 M rows, some 300 of the usual libraries */
    REGIONS_BLOCK_ROWS = 256, /* rows are given out in blocks: 2 KiB */
    REGIONS_BLOCKS = ABI_SHARD_ROWS / REGIONS_BLOCK_ROWS, /* of one shard */
};

struct region { /* value: rows [first, first + count) of a shard */
    uint32_t shard, first, count;
};

struct regions { /* embedded; set shards_max, the rest zero is empty */
    uint32_t shards_max; /* at most REGIONS_SHARDS_MAX */
    uint32_t taken[REGIONS_SHARDS_MAX]; /* blocks */
    bool blocks[REGIONS_SHARDS_MAX][REGIONS_BLOCKS]; /* taken? */
};

/* The tightest hole that holds `count` rows, in shards that are in use as long as there is one.
 * ST_FULL: there is none; ST_TOO_BIG: more than a shard has. */
enum status regions_take(struct regions *r, uint32_t count, struct region *out);
void regions_give_back(struct regions *r, struct region region);
bool regions_uses(const struct regions *r, uint32_t shard); /* is any row of it taken? */

#endif
