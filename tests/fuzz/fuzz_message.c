/* Any bytes as a message: refused with a reason, or written back and read again as the same. */
#include <stdlib.h>
#include <string.h>

#include "common/compress.h"
#include "common/message.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes `m` into `w` and takes the bytes over. */
static struct blob written(const struct message *m, struct wire_writer *w)
{
    struct slice bytes;
    struct blob copy;

    require(message_encode(m, w) == ST_OK);
    bytes = wire_writer_bytes(w);
    copy = (struct blob){malloc(bytes.length), bytes.length};
    require(copy.bytes != NULL);
    memcpy(copy.bytes, bytes.bytes, bytes.length);
    return copy;
}

static void write_and_read_again(const struct message *m)
{
    struct wire_writer *w;
    struct message again;
    struct blob first, second;

    require(wire_writer_new(MESSAGE_BYTES_MAX, &w) == ST_OK);
    first = written(m, w);
    require(message_decode(blob_slice(&first), &again, NULL) == ST_OK);
    second = written(&again, w);
    require(first.length == second.length && memcmp(first.bytes, second.bytes, first.length) == 0);
    message_deinit(&again);
    blob_deinit(&second);
    blob_deinit(&first);
    wire_writer_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct message m;
    const char *why = NULL;

    if (message_decode((struct slice){data, size}, &m, &why) == ST_OK)
        write_and_read_again(&m);
    else
        require(why != NULL);
    message_deinit(&m);
    return 0;
}
