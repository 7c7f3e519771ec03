/* chunk_maker - valid chunks of any shape, with the regularities of real ones: stacks share
 * prefixes, few frames are hot, threads keep to their own stacks and tick at the period. */
#ifndef TESTS_SUPPORT_CHUNK_MAKER_H
#define TESTS_SUPPORT_CHUNK_MAKER_H

#include "common/chunk.h"
#include "tests/support/rng.h"

struct chunk_shape {
    uint32_t binaries, frames; /* frames: at least 1 */
    uint32_t stacks, depth; /* depth: at least 1 */
    uint32_t processes, threads; /* both zero or neither */
    uint32_t samples; /* needs stacks and threads */
};

/* The same seed and shape give the same chunk. The caller deinits; NULL tables never occur. */
struct chunk chunk_make(struct chunk_shape shape, struct rng *rng);

#endif
