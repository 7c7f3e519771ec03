/* window - which samples a question is about: a session, or a span of time with a selector. */
#ifndef COORDINATOR_QUERY_WINDOW_H
#define COORDINATOR_QUERY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/event.h"
#include "common/selector.h"
#include "common/status.h"
#include "coordinator/store/store.h"

enum { WINDOW_WHY_MAX = 256 };

struct window { /* borrowed pointers live as long as the caller keeps them */
    bool by_session;
    uint64_t session; /* by_session */
    struct wall from, to; /* otherwise: [from, to) */
    const struct selector *select; /* host and process labels; NULL: all. Also narrows a session */
    enum event event; /* EVENT_NONE: the session's own, or cpu */
};

#endif
