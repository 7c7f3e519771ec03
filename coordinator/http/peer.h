/* peer - who asks. */
#ifndef COORDINATOR_HTTP_PEER_H
#define COORDINATOR_HTTP_PEER_H

#include "coordinator/http/call.h"

enum { PEER_NAME_MAX = 128 }; /* bytes, with the NUL */

/* The peer's user name where the socket tells it, "anonymous" where it does not. */
const char *peer_name(const struct call *c, char buffer[PEER_NAME_MAX]);

#endif
