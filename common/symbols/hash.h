/* hash - SHA-256 as the identity of what has no build id. Any thread. */
#ifndef COMMON_SYMBOLS_HASH_H
#define COMMON_SYMBOLS_HASH_H

#include "common/id.h"
#include "common/status.h"
#include "common/wire.h"

enum {
    /* Larger files are hashed by their first and last half of this, and their size: 0.2 s of CPU.
     */
    HASH_FILE_BYTES_MAX = 64 << 20
};

enum status hash_bytes(struct slice bytes, struct build_id *out);
enum status hash_file(int fd, struct build_id *out); /* the descriptor's offset is left alone */

#endif
