/* channel_backlog - a deeper queue of connections that wait to be accepted.
 * nng 1.5.2 listens with a backlog of 128: when ten thousand agents come back at once most of their
 * SYNs are dropped and retried after 1, 3 and 7 s. Listening again on the same socket raises it.
 * Private to channel. */
#ifndef COMMON_CHANNEL_BACKLOG_H
#define COMMON_CHANNEL_BACKLOG_H

#include <stdint.h>

/* Raises the backlog of this process's listening sockets on `port`. Best effort: without /proc the
 * listener works, only storms are slower. */
void channel_raise_backlog(uint16_t port);

#endif
