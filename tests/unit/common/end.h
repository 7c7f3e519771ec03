/* end - one side of a link in a test: a hub, and a record of what it was told.
 * end_pump waits on the wake-ups themselves; nothing sleeps instead of a condition. */
#ifndef TESTS_END_H
#define TESTS_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/channel.h"

enum { END_CHANNELS_MAX = 512 };

struct end {
    struct channel_hub *hub;
    struct channel_listener *listener;
    int wake_fd; /* an eventfd */
    bool echo; /* sends every frame back */
    struct channel *up[END_CHANNELS_MAX]; /* NULL once down */
    uint32_t ups, downs, frames;
    uint64_t frame_bytes;
    uint8_t last[64]; /* the start of the last frame's body */
    size_t last_length;
    enum status last_why;
};

void end_open(struct end *e, const struct channel_options *options); /* wake and arg are set here */
void end_close(struct end *e);
void end_listen(struct end *e, const char *url);
/* "tcp://127.0.0.1:PORT" of the listener. */
const char *end_url(const struct end *e, char out[64]);
void end_drain(struct end *e);
/* Drains both (b may be NULL) until `done` holds; fails the test after 20 s. */
void end_pump(struct end *a, struct end *b, bool (*done)(const struct end *a, const struct end *b));
unsigned end_open_sockets(void); /* of this process */

#endif
