/* message_layout - what message's own files share: the keys on the wire and the rules.
 * Include only from common/message*.c. schemas/README.md describes the same in words. */
#ifndef COMMON_MESSAGE_LAYOUT_H
#define COMMON_MESSAGE_LAYOUT_H

#include "common/message.h"

/* A message is [version, type, body]; the body a map. Newer writers may add keys to maps; this
 * bounds how many we skip. */
enum { MESSAGE_ITEMS = 3, MESSAGE_KEYS_MAX = 64 };

/* Keys are never reused. Each enum is one map, whose last entry is its number of keys. */

enum hello_key {
    HELLO_HOST = 1,
    HELLO_INCARNATION,
    HELLO_BOOT_ID,
    HELLO_VERSION,
    HELLO_LABELS, /* [key, value, key, value, ...], keys ascending */
    HELLO_PLAN_REVISION,
    HELLO_RUNNING,
    HELLO_SENT,
    HELLO_CPUS,
    HELLO_DEGRADED,
    HELLO_KEYS = HELLO_DEGRADED,
};

enum welcome_key {
    WELCOME_NOW = 1,
    WELCOME_WINDOW,
    WELCOME_HEARTBEAT,
    WELCOME_IDLE_LIMIT,
    WELCOME_KEYS = WELCOME_IDLE_LIMIT,
};

enum heartbeat_key {
    HEARTBEAT_SENT = 1,
    HEARTBEAT_SENT_MONO,
    HEARTBEAT_PLAN_REVISION,
    HEARTBEAT_COST,
    HEARTBEAT_SPOOL_CHUNKS,
    HEARTBEAT_SPOOL_BYTES,
    HEARTBEAT_DROPPED_CHUNKS,
    HEARTBEAT_DROPPED_SAMPLES,
    HEARTBEAT_CLOCK_OFFSET,
    HEARTBEAT_KEYS = HEARTBEAT_CLOCK_OFFSET,
};

enum heartbeat_reply_key {
    HEARTBEAT_REPLY_SENT_MONO = 1,
    HEARTBEAT_REPLY_NOW,
    HEARTBEAT_REPLY_KEYS = HEARTBEAT_REPLY_NOW,
};

enum plan_key { PLAN_REVISION = 1, PLAN_ITEMS, PLAN_KEYS = PLAN_ITEMS };

enum plan_item_key {
    ITEM_PROFILER = 1,
    ITEM_EVENT,
    ITEM_PERIOD,
    ITEM_REMAINING,
    ITEM_CHUNK,
    ITEM_KEYS = ITEM_CHUNK,
};

enum plan_ack_key { PLAN_ACK_REVISION = 1, PLAN_ACK_KEYS = PLAN_ACK_REVISION };

enum profiler_state_key {
    STATE_PROFILER = 1,
    STATE_STATE,
    STATE_PERIOD,
    STATE_LAST_SEQUENCE,
    STATE_SAMPLES,
    STATE_REASON,
    STATE_KEYS = STATE_REASON,
};

enum chunk_message_key { CHUNK_NUMBER = 1, CHUNK_BYTES, CHUNK_KEYS = CHUNK_BYTES };

enum chunk_ack_key { CHUNK_ACK_NUMBER = 1, CHUNK_ACK_WINDOW, CHUNK_ACK_KEYS = CHUNK_ACK_WINDOW };

enum symbols_wanted_key { WANTED_IDS = 1, WANTED_KEYS = WANTED_IDS };

enum symbols_key {
    SYMBOLS_ID = 1,
    SYMBOLS_PART,
    SYMBOLS_PARTS,
    SYMBOLS_BYTES,
    SYMBOLS_REASON,
    SYMBOLS_KEYS = SYMBOLS_REASON,
};

enum refusal_key {
    REFUSED_ABOUT = 1,
    REFUSED_NUMBER,
    REFUSED_REASON,
    REFUSED_TEXT,
    REFUSED_KEYS = REFUSED_TEXT,
};

/* The rules of message.h, for what is about to be sent and for what was read alike. */
enum status message_check(const struct message *m, const char **why);

#endif
