#include "common/channel_frame.h"

#include <stdlib.h>
#include <string.h>

enum {
    PROTOCOL_REQ = 0x30,
    PROTOCOL_REP = 0x31,
    IPC_MESSAGE = 1,
};

static void put_be(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
}

static uint64_t get_be(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | from[i];
    return value;
}

void frame_greeting(enum frame_side side, uint8_t out[FRAME_GREETING_BYTES])
{
    const uint8_t protocol = side == FRAME_LISTENER ? PROTOCOL_REP : PROTOCOL_REQ;
    const uint8_t greeting[FRAME_GREETING_BYTES] = {0, 'S', 'P', 0, 0, protocol, 0, 0};

    memcpy(out, greeting, sizeof(greeting));
}

bool frame_greeting_matches(enum frame_side side, const uint8_t greeting[FRAME_GREETING_BYTES])
{
    uint8_t expected[FRAME_GREETING_BYTES];

    frame_greeting(side == FRAME_LISTENER ? FRAME_DIALER : FRAME_LISTENER, expected);
    return memcmp(greeting, expected, sizeof(expected)) == 0;
}

size_t frame_head_bytes(bool ipc)
{
    return ipc ? FRAME_HEAD_MAX : FRAME_HEAD_MAX - 1;
}

enum status frame_head_decode(bool ipc, const uint8_t *bytes, size_t body_bytes_max,
                              struct frame_head *out)
{
    uint64_t length;
    uint32_t id;

    if (ipc && *bytes++ != IPC_MESSAGE)
        return ST_INVALID;
    length = get_be(bytes, 8);
    id = (uint32_t)get_be(bytes + 8, FRAME_ID_BYTES);
    if (length < FRAME_ID_BYTES)
        return ST_INVALID;
    if (length - FRAME_ID_BYTES > body_bytes_max)
        return ST_TOO_BIG;
    if ((id & UINT32_C(0x80000000)) == 0) /* a hop of an nng device: we are always the last */
        return ST_INVALID;

    *out = (struct frame_head){.id = id, .body_bytes = (size_t)(length - FRAME_ID_BYTES)};
    return ST_OK;
}

struct outgoing *outgoing_new(bool ipc, uint32_t id, struct slice body)
{
    const size_t head_bytes = frame_head_bytes(ipc);
    struct outgoing *o = malloc(sizeof(*o) + head_bytes + body.length);
    uint8_t *head;

    if (o == NULL)
        return NULL;
    o->next = NULL;
    o->length = head_bytes + body.length;
    head = o->bytes;
    if (ipc)
        *head++ = IPC_MESSAGE;
    put_be(head, FRAME_ID_BYTES + (uint64_t)body.length, 8);
    put_be(head + 8, id, FRAME_ID_BYTES);
    if (body.length > 0)
        memcpy(head + 8 + FRAME_ID_BYTES, body.bytes, body.length);
    return o;
}

struct outgoing *outgoing_greeting_new(enum frame_side side)
{
    struct outgoing *o = malloc(sizeof(*o) + FRAME_GREETING_BYTES);

    if (o == NULL)
        return NULL;
    o->next = NULL;
    o->length = FRAME_GREETING_BYTES;
    frame_greeting(side, o->bytes);
    return o;
}
