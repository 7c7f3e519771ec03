/* link - the agent's end of the connection to the coordinator.
 * Dials, says hello, keeps heartbeats and deadlines, sends what the spool holds within the window
 * that the coordinator gives, and deletes it when it is acknowledged. When the connection is lost
 * it comes back by itself, with a jittered back-off that only a welcome resets; after a connection
 * on which no chunk was taken, only an acknowledgement. Loop thread; times are passed in; knows
 * nothing of samples. */
#ifndef AGENT_LINK_H
#define AGENT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/spool.h"
#include "common/clock.h"
#include "common/message.h"
#include "common/status.h"

enum {
    LINK_WINDOW_MAX = 64, /* chunks under way; a larger window is taken for this one */
    LINK_QUEUED_BYTES_MAX = 64 << 20, /* unsent bytes: the window's chunks at their largest would be
                                         more, so the window is also held to this */
};
#define LINK_BACKOFF_MIN_NS (100 * NS_PER_MS)
#define LINK_BACKOFF_MAX_NS (5 * NS_PER_S)
#define LINK_WELCOME_NS (10 * NS_PER_S) /* from the start of dialing to the welcome */

struct link; /* opaque */

struct link_handler {
    void (*fill_hello)(void *arg, struct hello *out); /* all but `sent` */
    void (*fill_heartbeat)(void *arg, struct heartbeat *out); /* all but times, spool and offset */
    void (*welcomed)(void *arg); /* say again what may have been missed */
    void (*plan)(void *arg, const struct plan *p);
    void (*symbols_wanted)(void *arg, const struct symbols_wanted *w);
    void *arg;
};

struct link_options {
    const char *url;
    struct spool *spool; /* borrowed */
    void (*wake)(void *arg); /* any thread: call link_drain on the loop soon */
    void *wake_arg;
    struct link_handler handler;
};

struct link_counters {
    uint64_t dials, welcomes, chunks_sent, chunks_acknowledged, chunks_refused, bytes_sent;
    uint64_t malformed; /* messages from the coordinator that we could not read */
};

enum status link_new(const struct link_options *options, struct link **out);
void link_free(struct link *l); /* NULL is fine */

void link_drain(struct link *l, struct mono now, struct wall wall); /* after `wake` */
/* Deadlines, heartbeat, dialing, chunks: call it about every 100 ms and after a chunk was spooled.
 */
void link_tick(struct link *l, struct mono now, struct wall wall);

bool link_is_up(const struct link *l); /* welcomed */
bool link_has_unsent(const struct link *l); /* chunks wait for the window or an acknowledgement */
size_t link_queued_bytes(const struct link *l);
/* Dropped silently when the link is not up: `welcomed` is where they are said again. */
void link_send(struct link *l, const struct message *m);
/* Add to our wall clock, which showed `wall` at `now`, for the coordinator's. What is kept is the
 * coordinator's time against our monotonic clock, so that a step of our wall clock is in the answer
 * at once. 0 before the first welcome. */
int64_t link_clock_offset_ns(const struct link *l, struct mono now, struct wall wall);
struct link_counters link_read_counters(const struct link *l);

#endif
