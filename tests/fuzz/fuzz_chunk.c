/* Any bytes as a chunk: refused with a reason, or written back and read again as the same.
 * The first byte says what the rest is: 0 a packed chunk; odd the plain bytes of the wire form;
 * otherwise those of the stored form. */
#include <string.h>

#include "common/chunk.h"
#include "tests/fuzz/require.h"
#include "tests/support/raw_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read_again(const struct chunk *c, enum chunk_form form)
{
    struct blob first, second;
    struct chunk again;
    struct chunk_info info;

    require(chunk_encode(c, form, &first) == ST_OK);
    require(chunk_decode(blob_slice(&first), form, &again, NULL) == ST_OK);
    require(chunk_decode_info(blob_slice(&first), &info) == ST_OK);
    require(chunk_encode(&again, form, &second) == ST_OK);
    require(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0);
    chunk_deinit(&again);
    blob_deinit(&second);
    blob_deinit(&first);
}

static void try_packed(struct slice packed, enum chunk_form form)
{
    struct chunk c;
    const char *why = NULL;

    if (chunk_decode(packed, form, &c, &why) != ST_OK) {
        require(why != NULL);
        return;
    }
    write_and_read_again(&c, form);
    chunk_deinit(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = {data + 1, size - 1};
    struct blob frame;

    if (size == 0)
        return 0;
    if (data[0] == 0) {
        try_packed(rest, CHUNK_WIRE);
        return 0;
    }
    frame = raw_frame(rest);
    try_packed(blob_slice(&frame), data[0] % 2 == 1 ? CHUNK_WIRE : CHUNK_STORED);
    blob_deinit(&frame);
    return 0;
}
