/* channel - framed messages over nng's byte streams; knows nothing of what they say.
 *
 * A hub owns every connection of a process, in and out. nng's threads only queue events and ring
 * `wake`; all else happens on the thread that calls channel_hub_drain (the libuv loop). The SP wire
 * framing is kept (8-byte greeting, then u64 length, u32 id, body), so that a stock nng REQ socket
 * can talk to a listener: the id of a request is handed up and given back with the reply.
 *
 * Invariants of a connection: one receive and one send operation at a time under one mutex; nothing
 * is started after close; memory is freed on the loop thread only, when both operations have ended.
 */
#ifndef COMMON_CHANNEL_H
#define COMMON_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

struct channel_hub; /* opaque */
struct channel_listener; /* opaque */
struct channel; /* opaque: one connection */

struct channel_options {
    size_t frame_bytes_max; /* a longer frame closes the connection before anything is allocated */
    size_t queued_bytes_max; /* unsent bytes of one connection; more is ST_FULL */
    uint32_t connections_max;
    void (*wake)(void *arg); /* called on any thread when the event queue stops being empty */
    void *arg;
};

struct channel_counters {
    uint64_t accepted, dialed, refused_full, closed, frames_in, frames_out, bytes_in, bytes_out;
    uint64_t too_big, bad_greeting, bad_head;
    uint32_t open; /* accepted + dialed - closed */
};

/* Called by channel_hub_drain only. A channel reported `down` is gone after the call returns. */
struct channel_handler {
    void (*up)(void *arg, struct channel *c); /* greeting exchanged */
    void (*frame)(void *arg, struct channel *c, struct slice body); /* lent for the call */
    /* Once for each `up`, and for a dial that failed. ST_CLOSED: by either side; ST_TOO_BIG: the
     * peer's frame; ST_INVALID: the peer does not speak this protocol; ST_TIMEOUT; ST_IO. */
    void (*down)(void *arg, struct channel *c, enum status why);
    void *arg;
};

enum status channel_hub_new(const struct channel_options *options, struct channel_hub **out);
/* Closes listeners and connections, waits for nng's operations (about 30 ms), frees everything. No
 * handler is called. After it returns `wake` is never called again. */
void channel_hub_free(struct channel_hub *h);

/* "tcp://127.0.0.1:7100" (port 0: any) or "ipc:///run/fleetprof/agents.sock".
 * ST_INVALID: not such a URL; ST_EXISTS: address in use; ST_DENIED; ST_IO. */
enum status channel_listen(struct channel_hub *h, const char *url, struct channel_listener **out);
uint16_t channel_listener_port(const struct channel_listener *l); /* tcp; 0 else */

/* Starts connecting; `up` or `down` follows. The caller retries with its own back-off. */
enum status channel_dial(struct channel_hub *h, const char *url, struct channel **out);

void channel_hub_drain(struct channel_hub *h, const struct channel_handler *handler);

/* Copies `body` into the send queue; before `up` it waits there. A stock REQ socket takes it as the
 * reply to its request that was handed up last.
 * ST_FULL: queued_bytes_max; ST_TOO_BIG: frame_bytes_max; ST_CLOSED: closing; ST_NOMEM. */
enum status channel_send(struct channel *c, struct slice body);
size_t channel_queued_bytes(const struct channel *c);
/* Stops or resumes reading: the back-pressure. A frame already queued may still arrive. */
void channel_pause(struct channel *c, bool paused);
/* Stops reading at once, gives what is queued a second to leave, then `down` follows with
 * ST_CLOSED. No frame is handed up any more. May be called twice. */
void channel_close(struct channel *c);

void channel_set_owner(struct channel *c, void *owner);
void *channel_owner(const struct channel *c);
const char *channel_peer(const struct channel *c); /* "127.0.0.1:41234" or "ipc" */
struct channel_counters channel_hub_counters(const struct channel_hub *h);

#endif
