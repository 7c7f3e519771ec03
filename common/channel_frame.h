/* channel_frame - the SP wire format, as bytes: the greeting and the head of a frame.
 * Private to channel. Pure functions, no I/O.
 *
 * A connection opens with 8 bytes from each side: 00 'S' 'P' 00, the sender's protocol, 00 00. The
 * side that listens says REP (0x31), the side that dials says REQ (0x30). A frame is a u64 length
 * of what follows, a u32 request id with its high bit set, and the body; numbers are big-endian.
 * Over ipc a byte 01 comes before the length, which is nng's mark for a message. */
#ifndef COMMON_CHANNEL_FRAME_H
#define COMMON_CHANNEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

enum {
    FRAME_GREETING_BYTES = 8,
    FRAME_ID_BYTES = 4,
    FRAME_HEAD_MAX = 1 + 8 + FRAME_ID_BYTES, /* ipc; tcp has one byte less */
};

/* The id of a frame that answers no request: agents have no use for ids. */
#define FRAME_ID_DEFAULT UINT32_C(0x80000001)

enum frame_side { FRAME_LISTENER, FRAME_DIALER };

struct frame_head {
    uint32_t id;
    size_t body_bytes;
};

/* An encoded frame on its way out. */
struct outgoing {
    struct outgoing *next;
    size_t length; /* of bytes */
    uint8_t bytes[];
};

void frame_greeting(enum frame_side side, uint8_t out[FRAME_GREETING_BYTES]);
/* Whether `greeting` is what the other side of `side` has to say. */
bool frame_greeting_matches(enum frame_side side, const uint8_t greeting[FRAME_GREETING_BYTES]);

size_t frame_head_bytes(bool ipc);
/* ST_TOO_BIG: a body over `body_bytes_max`; ST_INVALID: not a head of ours. */
enum status frame_head_decode(bool ipc, const uint8_t *bytes, size_t body_bytes_max,
                              struct frame_head *out);

/* Both are malloc'd; NULL: out of memory. */
struct outgoing *outgoing_new(bool ipc, uint32_t id, struct slice body);
struct outgoing *outgoing_greeting_new(enum frame_side side);

#endif
