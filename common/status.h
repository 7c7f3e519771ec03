/* status - the one result type of the project.
 * Every call that can fail returns it; zero is success. Codes of foreign libraries are translated
 * to it in the one file that includes them. */
#ifndef COMMON_STATUS_H
#define COMMON_STATUS_H

#define STATUS_LIST(X)                     \
    X(OK, "ok")                            \
    X(NOMEM, "out of memory")              \
    X(INVALID, "malformed input")          \
    X(NOT_FOUND, "not found")              \
    X(EXISTS, "already there")             \
    X(FULL, "limit reached")               \
    X(TOO_BIG, "larger than its limit")    \
    X(BAD_STATE, "not now")                \
    X(UNSUPPORTED, "not supported here")   \
    X(DENIED, "permission denied")         \
    X(TIMEOUT, "deadline passed")          \
    X(CLOSED, "connection closed")         \
    X(NO_SPACE, "no space left on device") \
    X(IO, "input/output error")

enum status {
#define X(name, text) ST_##name,
    STATUS_LIST(X)
#undef X
};

/* One lower-case phrase without a full stop; static storage. */
const char *status_text(enum status st);

/* The status that says best what `err`, an errno value, means. */
enum status status_from_errno(int err);

#endif
