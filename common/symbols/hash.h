/* hash - SHA-256 as the identity of what has no build id. Any thread. */
#ifndef COMMON_SYMBOLS_HASH_H
#define COMMON_SYMBOLS_HASH_H

#include "common/id.h"
#include "common/status.h"
#include "common/wire.h"

enum {
    /* Larger files are hashed by their first and last half of this, and their size, in 3 ms: an
     * agent meets them on its loop, and node or a compiler's output has 100 MB without a build id.
     * The ends hold the headers, section offsets and names, which move with any code that does. */
    HASH_FILE_BYTES_MAX = 1 << 20
};

enum status hash_bytes(struct slice bytes, struct build_id *out);
enum status hash_file(int fd, struct build_id *out); /* the descriptor's offset is left alone */

#endif
