#include "common/status.h"

#include <errno.h>

const char *status_text(enum status st)
{
    switch (st) {
#define X(name, text) \
    case ST_##name:   \
        return text;
        STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

enum status status_from_errno(int err)
{
    switch (err) {
    case 0:
        return ST_OK;
    case ENOMEM:
        return ST_NOMEM;
    case ENOENT:
    case ESRCH:
        return ST_NOT_FOUND;
    case EEXIST:
    case EADDRINUSE:
        return ST_EXISTS;
    case EACCES:
    case EPERM:
        return ST_DENIED;
    case ENOSPC:
    case EDQUOT:
        return ST_NO_SPACE;
    case ETIMEDOUT:
        return ST_TIMEOUT;
    case EPIPE:
    case ECONNRESET:
        return ST_CLOSED;
    case ENOSYS:
    case EOPNOTSUPP:
        return ST_UNSUPPORTED;
    case EINVAL:
        return ST_INVALID;
    default:
        return ST_IO;
    }
}
