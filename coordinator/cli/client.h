/* client - asks the coordinator's HTTP API, over its UNIX socket or TCP. Blocking; one thread. */
#ifndef COORDINATOR_CLI_CLIENT_H
#define COORDINATOR_CLI_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

#define CLIENT_URL_DEFAULT "unix:/run/fleetprof/api.sock"
#define CLIENT_API "/api/v1"

struct client; /* opaque */

struct reply {
    long code; /* of HTTP: 200, 404, ... */
    char *body; /* owned; a NUL follows its `length` bytes */
    size_t length;
};

/* "unix:/path", "/path", "http://host:port" or "https://host:port". */
bool client_url_valid(const char *url);

/* ST_INVALID: not such a URL. Connects only when something is asked. */
enum status client_new(const char *url, struct client **out);
void client_free(struct client *c); /* NULL is fine */

/* `path` begins below /api/v1. ST_OK: an answer came, whatever its code. Else client_why() says in
 * a sentence what is wrong with the connection. `json` may be NULL: an empty body. */
enum status client_get(struct client *c, const char *path, struct reply *out);
enum status client_post(struct client *c, const char *path, const char *json, struct reply *out);
enum status client_post_bytes(struct client *c, const char *path, const void *bytes, size_t length,
                              struct reply *out);
void reply_deinit(struct reply *r);

/* A stream of server-sent events. `each` is called with every event's data, and every 200 ms
 * without data (NULL) so that it can look at signals and clocks; it returns false to leave the
 * stream. ST_OK: the server ended the stream, or `each` did; ST_CLOSED, ST_IO: the connection
 * broke. An answer that is no stream is given in `out`, whose code is then not 200. */
enum status client_stream(struct client *c, const char *path,
                          bool (*each)(void *arg, const char *data), void *arg, struct reply *out);

/* About the last call that failed; until the next call. */
const char *client_why(const struct client *c);

#endif
