#include "common/symbols/xz.h"

#include <lzma.h>
#include <stdlib.h>

enum { FIRST_BYTES = 64 << 10 };

static enum status from_lzma(lzma_ret code)
{
    switch ((int)code) {
    case LZMA_STREAM_END:
        return ST_OK;
    case LZMA_MEM_ERROR:
        return ST_NOMEM;
    case LZMA_MEMLIMIT_ERROR:
        return ST_TOO_BIG;
    default:
        return ST_INVALID;
    }
}

/* Gives the stream twice the room. */
static enum status grow(lzma_stream *s, size_t limit_bytes, struct blob *out)
{
    size_t length = out->length == 0 ? FIRST_BYTES : 2 * out->length, done = out->length;
    uint8_t *bytes;

    if (out->length >= limit_bytes)
        return ST_TOO_BIG;
    if (length > limit_bytes)
        length = limit_bytes;
    bytes = realloc(out->bytes, length);
    if (bytes == NULL)
        return ST_NOMEM;
    *out = (struct blob){bytes, length};
    s->next_out = bytes + done;
    s->avail_out = length - done;
    return ST_OK;
}

enum status xz_unpack(struct slice packed, size_t limit_bytes, struct blob *out)
{
    lzma_stream s = LZMA_STREAM_INIT;
    struct blob plain = {0};
    lzma_ret code = lzma_stream_decoder(&s, XZ_MEMORY_MAX, 0);
    enum status st = code == LZMA_OK ? ST_OK : from_lzma(code);

    s.next_in = packed.bytes;
    s.avail_in = packed.length;
    while (st == ST_OK && code == LZMA_OK) {
        if (s.avail_out == 0)
            st = grow(&s, limit_bytes, &plain);
        if (st == ST_OK)
            code = lzma_code(&s, LZMA_FINISH);
    }
    if (st == ST_OK)
        st = from_lzma(code);
    if (st == ST_OK) {
        *out = (struct blob){plain.bytes, s.total_out};
        plain = (struct blob){0};
    }
    lzma_end(&s);
    blob_deinit(&plain);
    return st;
}

uint32_t xz_crc32(struct slice bytes, uint32_t so_far)
{
    return lzma_crc32(bytes.bytes, bytes.length, so_far);
}
