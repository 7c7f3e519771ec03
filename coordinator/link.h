/* link - one agent's connection: what it says is decoded and handed on, what is not taken is
 * counted and the sender told why. Knows channels, but owns none: link_server does. Loop thread
 * only. */
#ifndef COORDINATOR_LINK_H
#define COORDINATOR_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/message.h"
#include "coordinator/control/control.h"
#include "coordinator/ingest/ingest.h"
#include "coordinator/symbol_desk.h"
#include "coordinator/uploads.h"

enum {
    LINK_UNPROCESSED_MAX = 8 << 20, /* bytes of chunks in work: two of the largest; more pauses */
    LINK_MISSING_MAX = 64, /* binaries without symbols that a hello makes us think of */
    LINK_REFUSALS_MAX = 64, /* refusals of a connection: then one of anything but a chunk closes it,
                               and the log is spared */
};
#define LINK_HELLO_NS (10 * NS_PER_S) /* from the greeting to the hello */
/* Bytes waiting for the disk, over all connections. More pauses whoever sends. */
#define LINK_STORE_WAITING_MAX (UINT64_C(256) << 20)

#define LINK_COUNTER_LIST(X)                                                 \
    X(hello_late, "connections closed without a hello in time")              \
    X(unreadable, "connections closed because the agent did not read")       \
    X(chunks, "chunks handed to ingest")                                     \
    X(chunks_again, "chunks that came again on the same connection")         \
    X(chunks_put_off, "chunks not taken for now: the store could not write") \
    X(acks, "acknowledgements sent")                                         \
    X(pauses, "times that reading was paused")                               \
    X(symbols_asked, "binaries whose symbols were asked for")                \
    X(symbols_got, "symbol tables stored")                                   \
    X(symbols_lacking, "answers that a host has no symbols for a binary")    \
    X(agent_refusals, "messages of ours that an agent refused")

struct link_counters {
#define X(name, help) uint64_t name;
    LINK_COUNTER_LIST(X)
#undef X
    uint64_t refused[REFUSAL_REASONS];
};

/* What all links share. */
struct link_context {
    struct control *control;
    struct ingest *ingest;
    struct store *store;
    struct symbol_desk *desk;
    struct wire_writer *writer;
    uint32_t window;
    struct mono now;
    struct wall wall;
    uint32_t missing_cursor; /* ingest_missing_symbols' */
    struct link_counters counters;
    struct link *attention; /* links to work on: acknowledgements, resuming, symbols to ask for */
    bool quiescing; /* the end is near: nothing more is read */
    bool putting_off; /* the store could not write when it was last asked: log the change once */
};

enum link_state {
    LINK_NEW, /* hello is awaited */
    LINK_UP,
    LINK_CLOSED, /* the channel is closing: last words leave, nothing is heard any more */
};

struct link {
    struct link_context *context;
    struct channel *channel;
    enum link_state state;
    struct mono deadline; /* of the hello */
    char host[MESSAGE_HOST_MAX + 1];
    uint32_t refusals; /* sent so far */
    struct uploads uploads;
    bool ack_due, paused;
    bool attended; /* in the context's list */
    struct link *next_attention;
    struct link *next, *previous; /* the server's */
};

struct link *link_new(struct link_context *x, struct channel *channel); /* NULL: out of memory */
/* The channel is down. Chunks in work go on without it. */
void link_free(struct link *l);

void link_frame(struct link *l, struct slice body);
void link_send(struct link *l, const struct message *m);
/* Closes; what was said still leaves. */
void link_leave(struct link *l);
void link_tick(struct link *l);

/* Acknowledges, resumes and asks, wherever that has become due. To be called when the callbacks of
 * the store and the frames of the channel have been worked off. */
void links_attend(struct link_context *x);
void link_attend(struct link *l); /* puts it on the list */

#endif
