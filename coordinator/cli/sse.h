/* sse - cuts a stream of server-sent events into events. Takes bytes however they are split; only
 * the data of events is kept, since this API's streams have one kind of event each. */
#ifndef COORDINATOR_CLI_SSE_H
#define COORDINATOR_CLI_SSE_H

#include <stdbool.h>
#include <stddef.h>

enum { SSE_EVENT_BYTES_MAX = 16 << 20 }; /* a session over 20,000 hosts is under 4 MiB */

struct sse { /* set `each` and `arg`, the rest zero */
    bool (*each)(void *arg, const char *data); /* false: leave the stream */
    void *arg;
    char *line, *data; /* owned: the line and the event so far */
    size_t line_length, data_length;
    bool after_return; /* a "\n" right after a "\r" ends nothing */
};

enum sse_result { SSE_MORE, SSE_LEFT, SSE_TOO_BIG };

enum sse_result sse_feed(struct sse *s, const char *bytes, size_t length);
void sse_deinit(struct sse *s);

#endif
