/* view_sessions - a session as JSON: listed, asked for, and in its stream of events. */
#ifndef COORDINATOR_HTTP_VIEW_SESSIONS_H
#define COORDINATOR_HTTP_VIEW_SESSIONS_H

#include "coordinator/control/control.h"
#include "coordinator/http/json.h"

json_t *view_session(const struct session_view *v); /* NULL: out of memory */

#endif
