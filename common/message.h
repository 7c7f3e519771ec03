/* message - everything that agents and the coordinator say to each other, as plain values.
 * The numbers and names are in schemas/messages.def. Decoding is bounded and total; text, bytes and
 * nested arrays of a decoded message are lent from the input or owned by the message, and
 * message_deinit frees the latter. No I/O, no clock, any thread. */
#ifndef COMMON_MESSAGE_H
#define COMMON_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/event.h"
#include "common/id.h"
#include "common/labels.h"
#include "common/ledger.h"
#include "common/status.h"
#include "common/wire.h"

enum {
    PROTOCOL_VERSION = 1,
    MESSAGE_BYTES_MAX = 5 << 20, /* CHUNK_PACKED_MAX and its envelope */
    MESSAGE_HOST_MAX = 255, /* bytes of a host name */
    MESSAGE_TEXT_MAX = 1024, /* any other text */
    MESSAGE_PLAN_ITEMS_MAX = 64,
    MESSAGE_PROFILERS_MAX = 64,
    MESSAGE_BUILD_IDS_MAX = 256,
    MESSAGE_SYMBOL_PART_MAX = 1 << 20, /* bytes of one part of an upload */
    MESSAGE_SYMBOL_PARTS_MAX = 128, /* SYMTAB_PACKED_MAX in such parts */
};

enum message_type {
    MESSAGE_NONE = 0,
#define X(number, NAME, name, direction) MESSAGE_##NAME = (number),
#include "schemas/messages.def"
#undef X
};

/* number, NAME, text: what a profiler on a host is doing. */
#define PROFILER_STATE_LIST(X) \
    X(1, ACCEPTED, "accepted") \
    X(2, ATTACHED, "attached") \
    X(3, SAMPLING, "sampling") \
    X(4, DRAINING, "draining") \
    X(5, ENDED, "ended")       \
    X(6, REFUSED, "refused")

enum profiler_state {
    PROFILER_NONE = 0,
#define X(number, NAME, text) PROFILER_##NAME = (number),
    PROFILER_STATE_LIST(X)
#undef X
};

struct hello {
    char host[MESSAGE_HOST_MAX + 1]; /* the host's identity */
    uint64_t incarnation;
    struct id128 boot_id;
    char version[32];
    struct labels labels; /* owned */
    uint64_t plan_revision; /* applied last; 0: none */
    struct id128 running[MESSAGE_PROFILERS_MAX];
    uint32_t running_count;
    struct wall sent;
    uint32_t cpus;
    char degraded[MESSAGE_TEXT_MAX + 1]; /* what the host cannot do and why; "" when all is well */
};

struct welcome {
    struct wall now;
    uint32_t window; /* chunks that may be unacknowledged at once */
    uint64_t heartbeat_ns;
    uint64_t idle_limit_ns; /* silence after which either side gives the connection up */
};

struct heartbeat {
    struct wall sent;
    struct mono sent_mono;
    uint64_t plan_revision;
    struct agent_cost cost; /* since the agent's start */
    uint64_t spool_chunks, spool_bytes;
    uint64_t spool_dropped_chunks, spool_dropped_samples; /* since the agent's start */
    int64_t clock_offset_ns;
};

struct heartbeat_reply {
    struct mono sent_mono; /* as in the heartbeat: gives the round trip */
    struct wall now;
};

struct plan_item {
    struct id128 profiler;
    enum event event; /* EVENT_NONE: one that this build does not know; refuse the item */
    uint64_t period_ns;
    uint64_t remaining_ns; /* from the sending of the plan; the agent holds the deadline itself */
    uint64_t chunk_ns; /* window of a chunk */
};

struct plan { /* what the host should be doing; replaces every earlier plan */
    uint64_t revision;
    struct plan_item items[MESSAGE_PLAN_ITEMS_MAX];
    uint32_t item_count;
};

struct plan_ack {
    uint64_t revision;
};

struct profiler_report {
    struct id128 profiler;
    enum profiler_state state;
    uint64_t period_ns;
    uint64_t last_sequence; /* ENDED: of the final chunk, 0 when there was none */
    uint64_t samples;
    char reason[MESSAGE_TEXT_MAX + 1];
};

struct chunk_message {
    uint64_t number; /* the agent's upload number, ascending within a connection */
    struct slice bytes; /* lent: a packed chunk */
};

struct chunk_ack {
    uint64_t number; /* this and every earlier one on this connection are durable or refused */
    uint32_t window;
};

struct symbols_wanted {
    struct build_id ids[MESSAGE_BUILD_IDS_MAX];
    uint32_t count;
};

struct symbols_part {
    struct build_id id;
    uint32_t part, parts; /* from 0; 0 of 0 parts: the host does not have them */
    struct slice bytes; /* lent: a run of the packed symtab */
    char reason[MESSAGE_TEXT_MAX + 1]; /* with 0 parts */
};

/* number, NAME, text: why a message was not taken. Counted by the receiver under this name. */
#define REFUSAL_LIST(X)                        \
    X(1, MALFORMED, "malformed")               \
    X(2, TOO_BIG, "too_big")                   \
    X(3, UNKNOWN_TYPE, "unknown_type")         \
    X(4, VERSION, "unsupported_version")       \
    X(5, NO_HELLO, "hello_missing")            \
    X(6, UNKNOWN_PROFILER, "unknown_profiler") \
    X(7, NOT_YOURS, "not_your_profiler")       \
    X(8, NOT_WANTED, "not_asked_for")          \
    X(9, LIMIT, "limit_reached")               \
    X(10, REPLACED, "replaced_by_newer_connection")

enum refusal_reason {
#define X(number, NAME, text) REFUSAL_##NAME = (number),
    REFUSAL_LIST(X)
#undef X
        REFUSAL_REASONS
};

struct refusal {
    uint64_t about; /* message type */
    uint64_t number; /* of the refused chunk; else 0 */
    enum refusal_reason reason;
    char text[MESSAGE_TEXT_MAX + 1]; /* names the value and what would be right */
};

struct message {
    enum message_type type;
    union {
        struct hello hello;
        struct welcome welcome;
        struct heartbeat heartbeat;
        struct heartbeat_reply heartbeat_reply;
        struct plan plan;
        struct plan_ack plan_ack;
        struct profiler_report profiler_state;
        struct chunk_message chunk;
        struct chunk_ack chunk_ack;
        struct symbols_wanted symbols_wanted;
        struct symbols_part symbols;
        struct refusal refusal;
    };
};

const char *message_name(enum message_type t);
const char *profiler_state_name(enum profiler_state s);
const char *refusal_name(enum refusal_reason r);

/* What to tell the sender of a message or chunk whose decoding ended in `st`. */
enum refusal_reason refusal_for(enum status st);

/* `w` is reset first; its bytes are empty after a failure. ST_INVALID and ST_TOO_BIG: breaks a rule
 * that message_decode checks. */
enum status message_encode(const struct message *m, struct wire_writer *w);

/* ST_INVALID, ST_TOO_BIG, ST_UNSUPPORTED (version), ST_NOT_FOUND (type), ST_NOMEM. On failure `out`
 * holds only the type (MESSAGE_NONE when unknown) and `why`, which may be NULL, one static
 * sentence. Lent slices live as long as `input`. */
enum status message_decode(struct slice input, struct message *out, const char **why);
void message_deinit(struct message *m);

#endif
