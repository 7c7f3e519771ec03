/* gzip - zlib, the whole buffer in one call. */
#include "coordinator/query/gzip.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    WINDOW_GZIP = 15 + 16, /* the largest window, with gzip's header instead of zlib's */
    MEMORY_LEVEL = 8, /* zlib's default */
};

enum status gzip(struct slice plain, uint8_t **out, size_t *out_length)
{
    z_stream z = {.next_in = (Bytef *)plain.bytes, .avail_in = (uInt)plain.length};
    uint8_t *packed = NULL;
    size_t room;
    enum status st = ST_NOMEM;

    if (plain.length > INT_MAX)
        return ST_TOO_BIG;
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return ST_NOMEM;
    room = deflateBound(&z, plain.length);
    packed = malloc(room);
    if (packed == NULL)
        goto out;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    if (deflate(&z, Z_FINISH) != Z_STREAM_END)
        goto out;
    *out = packed;
    *out_length = z.total_out;
    packed = NULL;
    st = ST_OK;
out:
    (void)deflateEnd(&z); /* it has said all it had to say */
    free(packed);
    return st;
}
