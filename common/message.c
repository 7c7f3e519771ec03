/* Names of messages and freeing one. message_encode.c and message_decode.c have the bytes,
 * message_check.c the rules. */
#include "common/message.h"

const char *message_name(enum message_type t)
{
    switch (t) {
    case MESSAGE_NONE:
        return "none";
#define X(number, NAME, name, direction) \
    case MESSAGE_##NAME:                 \
        return #name;
#include "schemas/messages.def"
#undef X
    }
    return "unknown";
}

const char *profiler_state_name(enum profiler_state s)
{
    switch (s) {
    case PROFILER_NONE:
        return "none";
#define X(number, NAME, text) \
    case PROFILER_##NAME:     \
        return text;
        PROFILER_STATE_LIST(X)
#undef X
    }
    return "unknown";
}

const char *refusal_name(enum refusal_reason r)
{
    switch (r) {
#define X(number, NAME, text) \
    case REFUSAL_##NAME:      \
        return text;
        REFUSAL_LIST(X)
#undef X
    case REFUSAL_REASONS:
        break;
    }
    return "unknown";
}

enum refusal_reason refusal_for(enum status st)
{
    if (st == ST_TOO_BIG)
        return REFUSAL_TOO_BIG;
    if (st == ST_UNSUPPORTED)
        return REFUSAL_VERSION;
    if (st == ST_NOT_FOUND)
        return REFUSAL_UNKNOWN_TYPE;
    if (st == ST_NOMEM || st == ST_FULL)
        return REFUSAL_LIMIT;
    return REFUSAL_MALFORMED;
}

void message_deinit(struct message *m)
{
    if (m->type == MESSAGE_HELLO)
        labels_deinit(&m->hello.labels);
    *m = (struct message){0};
}
