/* stream - connected byte streams over tcp and ipc, by nng's stream API.
 * Of nng only the streams and aios are used: the SP sockets of 1.5.2 lose their listener, leak on
 * aborted handshakes and hang at close when peers misbehave.
 *
 * A stream has at most one receive and one send under way; each start is answered by exactly one
 * call of its handler, on a thread of nng's and never from inside the call that started it. After
 * stream_close nothing may be started; what is under way is answered with ST_CLOSED.
 * Private to channel. */
#ifndef COMMON_STREAM_H
#define COMMON_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct stream; /* opaque */
struct acceptor; /* opaque */

enum { STREAM_FOREVER = 0, STREAM_PEER_MAX = 64 };

struct stream_handler {
    void (*received)(void *arg, enum status st, size_t bytes); /* also when connected: 0 bytes */
    void (*sent)(void *arg, enum status st, size_t bytes); /* ST_BAD_STATE: cancelled */
    void *arg;
};

/* ---- listening ---- */

/* Hands each stream that comes in to `accepted`, which owns it from then on, on nng's threads.
 * ST_INVALID: not a tcp:// or ipc:// URL; ST_EXISTS: in use; ST_DENIED; ST_IO. */
enum status acceptor_open(const char *url, void (*accepted)(void *arg, struct stream *s), void *arg,
                          struct acceptor **out);
void acceptor_close(struct acceptor *a); /* `accepted` is not running and not called after this */
uint16_t acceptor_port(const struct acceptor *a); /* tcp; 0 else */

/* ---- connecting ---- */

enum status stream_new(const char *url, struct stream **out); /* ST_INVALID: not such a URL */
void stream_connect(struct stream *s, unsigned timeout_ms); /* answered by `received` */

/* ---- connected ---- */

void stream_set_handler(struct stream *s,
                        const struct stream_handler *handler); /* before a start */
void stream_receive(struct stream *s, uint8_t *into, size_t bytes, unsigned timeout_ms);
void stream_send(struct stream *s, const uint8_t *from, size_t bytes, unsigned timeout_ms);
void stream_cancel_send(struct stream *s); /* nothing of it was sent if `sent` says cancelled */
void stream_close(struct stream *s); /* any thread; may be called twice */
/* Waits for callbacks that are about to return, so never from one. Nothing may be under way. */
void stream_free(struct stream *s);

bool stream_is_ipc(const struct stream *s);
/* "127.0.0.1:41234", "[::1]:41234", "ipc", "unknown" */
void stream_name_peer(const struct stream *s, char out[STREAM_PEER_MAX]);

#endif
