/* records - the control records as values, and their bytes in the store (msgpack).
 * What ingest, control and queries all need to know about profilers and sessions. */
#ifndef COORDINATOR_STORE_RECORDS_H
#define COORDINATOR_STORE_RECORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/event.h"
#include "common/id.h"
#include "common/labels.h"
#include "common/message.h"
#include "common/status.h"
#include "common/wire.h"
#include "coordinator/store/store.h"

/* One continuous run of one event on one agent incarnation. Key: the 16 bytes of the id. */
struct profiler_record {
    struct id128 id;
    char host[MESSAGE_HOST_MAX + 1];
    uint64_t incarnation;
    enum event event;
    struct labels labels; /* the host's when it was assigned; owned */
    struct wall assigned;
    struct wall ended; /* 0: not known to have ended */
    uint64_t last_sequence; /* of the final chunk as the agent reported it; 0: not reported */
};

enum {
    SESSION_OWNER_MAX = 127,
    SESSION_NOTE_MAX = 511,
    SESSION_ID_BYTES = 8,
    SESSION_ID_TEXT_MAX = 17
};

#define SESSION_STATE_LIST(X)    \
    X(1, RUNNING, "running")     \
    X(2, DRAINING, "draining")   \
    X(3, COMPLETED, "completed") \
    X(4, STOPPED, "stopped")

enum session_state {
    SESSION_NONE = 0,
#define X(number, NAME, text) SESSION_##NAME = (number),
    SESSION_STATE_LIST(X)
#undef X
};

struct session_member { /* samples of this profiler within this interval belong to the session */
    struct id128 profiler;
    struct wall from, to; /* to 0: open */
};

struct session_record { /* key: 8 random bytes, big-endian; its text is 16 hex digits */
    uint64_t id;
    char *selector; /* owned */
    enum event event;
    uint32_t hz;
    struct wall created, ends; /* ends: absolute; moves earlier on stop */
    enum session_state state;
    bool stopped; /* by an operator: once drained it is STOPPED, not COMPLETED */
    char owner[SESSION_OWNER_MAX + 1];
    char note[SESSION_NOTE_MAX + 1];
    struct session_member *members; /* owned */
    uint32_t member_count;
};

const char *session_state_name(enum session_state s);
const char *session_id_format(uint64_t id, char text[SESSION_ID_TEXT_MAX]);
enum status session_id_parse(const char *text, uint64_t *out);

enum status profiler_record_encode(const struct profiler_record *r, struct wire_writer *w);
enum status profiler_record_decode(struct slice bytes, struct profiler_record *out);
void profiler_record_deinit(struct profiler_record *r);
enum status session_record_encode(const struct session_record *r, struct wire_writer *w);
enum status session_record_decode(struct slice bytes, struct session_record *out);
void session_record_deinit(struct session_record *r);

/* By id from a snapshot. ST_NOT_FOUND. */
enum status profiler_record_load(struct store_view *v, struct id128 id,
                                 struct profiler_record *out);
enum status session_record_load(struct store_view *v, uint64_t id, struct session_record *out);

#endif
