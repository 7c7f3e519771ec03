/* arena - a list of blocks, each filled from its front. */
#include "coordinator/query/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 256 << 10 }; /* larger pieces have a block of their own */

struct arena_block {
    struct arena_block *older;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

static int add_block(struct arena *a, size_t size)
{
    struct arena_block *b = calloc(1, sizeof(*b) + size);

    if (b == NULL)
        return -1;
    b->older = a->blocks;
    b->size = size;
    a->blocks = b;
    a->used = 0;
    return 0;
}

void *arena_get(struct arena *a, size_t count, size_t bytes)
{
    const size_t unit = alignof(max_align_t);
    size_t length;
    void *piece;

    if (bytes == 0 || count > SIZE_MAX / 2 / bytes)
        return NULL;
    length = (count * bytes + unit - 1) / unit * unit;
    if ((a->blocks == NULL || length > a->blocks->size - a->used) &&
        add_block(a, length > BLOCK_BYTES ? length : BLOCK_BYTES) != 0)
        return NULL;
    piece = a->blocks->bytes + a->used;
    a->used += length;
    return piece;
}

void arena_deinit(struct arena *a)
{
    while (a->blocks != NULL) {
        struct arena_block *older = a->blocks->older;

        free(a->blocks);
        a->blocks = older;
    }
    memset(a, 0, sizeof(*a));
}
