/* compress - zstd, one frame a blob, with its content size and checksum.
 * A frame without a size, or with a size over the caller's limit, is refused before any memory is
 * taken: 32 KiB of zstd can claim a gigabyte. The names keep clear of zlib's compress, which comes
 * in with other libraries. */
#ifndef COMMON_COMPRESS_H
#define COMMON_COMPRESS_H

#include "common/status.h"
#include "common/wire.h"

/* On success `out` owns a malloc'd buffer. */
struct blob {
    uint8_t *bytes;
    size_t length;
};

enum status compress_blob(struct slice plain, struct blob *out);
/* ST_TOO_BIG: over limit_bytes; ST_INVALID: not one whole frame, or damaged. */
enum status decompress_blob(struct slice packed, size_t limit_bytes, struct blob *out);
void blob_deinit(struct blob *b);

static inline struct slice blob_slice(const struct blob *b)
{
    return (struct slice){b->bytes, b->length};
}

#endif
