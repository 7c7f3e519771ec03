/* gzip - zlib's deflate into a buffer that doubles. The header holds no time: equal bytes pack to
 * equal bytes. */
#include "coordinator/query/gzip.h"

#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    WINDOW_GZIP = 15 + 16, /* the largest window, with gzip's header instead of zlib's */
    MEMORY_LEVEL = 8, /* zlib's default */
    PACKED_BYTES_FIRST = 64 << 10,
};

struct gzip {
    z_stream z;
    uint8_t *bytes;
    size_t length, capacity;
};

enum status gzip_new(struct gzip **out)
{
    struct gzip *g = calloc(1, sizeof(*g));

    if (g == NULL || deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WINDOW_GZIP,
                                  MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(g);
        return ST_NOMEM;
    }
    *out = g;
    return ST_OK;
}

void gzip_free(struct gzip *g)
{
    if (g == NULL)
        return;
    (void)deflateEnd(&g->z); /* complains of an unfinished stream, which is being given up */
    free(g->bytes);
    free(g);
}

static enum status grow(struct gzip *g)
{
    size_t capacity = g->capacity == 0 ? PACKED_BYTES_FIRST : g->capacity * 2;
    uint8_t *bytes = capacity > UINT_MAX ? NULL : realloc(g->bytes, capacity);

    if (bytes == NULL)
        return capacity > UINT_MAX ? ST_TOO_BIG : ST_NOMEM;
    g->bytes = bytes;
    g->capacity = capacity;
    return ST_OK;
}

/* Until everything is taken, and with Z_FINISH until everything is out. */
static enum status run(struct gzip *g, int flush)
{
    int rc = Z_OK;

    do {
        if (g->length == g->capacity) {
            enum status st = grow(g);

            if (st != ST_OK)
                return st;
        }
        g->z.next_out = g->bytes + g->length;
        g->z.avail_out = (uInt)(g->capacity - g->length);
        rc = deflate(&g->z, flush);
        g->length = g->capacity - g->z.avail_out;
    } while (g->z.avail_in > 0 || (flush == Z_FINISH && rc != Z_STREAM_END));
    return ST_OK;
}

enum status gzip_add(struct gzip *g, struct slice plain)
{
    if (plain.length > UINT_MAX)
        return ST_TOO_BIG;
    g->z.next_in = (Bytef *)plain.bytes; /* zlib only reads it; its type says so if ZLIB_CONST */
    g->z.avail_in = (uInt)plain.length;
    return plain.length == 0 ? ST_OK : run(g, Z_NO_FLUSH);
}

enum status gzip_finish(struct gzip *g, uint8_t **out, size_t *out_length)
{
    enum status st = run(g, Z_FINISH);

    if (st != ST_OK)
        return st;
    *out = g->bytes;
    *out_length = g->length;
    g->bytes = NULL;
    g->length = g->capacity = 0;
    return ST_OK;
}
