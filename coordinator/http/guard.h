/* guard - which requests are refused before any route sees them. Pure text; any thread. */
#ifndef COORDINATOR_HTTP_GUARD_H
#define COORDINATOR_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

/* Decodes %XX in place and returns the length. A malformed or NUL escape becomes an 0x01 byte,
 * which guard_text_is_clean refuses. */
size_t guard_unescape(char *text);

/* No control characters. */
bool guard_text_is_clean(const char *text);

/* Clean, absolute, and no segment is "..". */
bool guard_path_is_clean(const char *path);

/* "localhost", "127.0.0.1" or "[::1]", with or without a port. Any other name in a Host header
 * means that a browser was led here under the name of another site (DNS rebinding). */
bool guard_host_is_local(const char *host);

/* `origin` is a page of the server that `host` names: "http://" and the very same host and port. */
bool guard_origin_is_ours(const char *origin, const char *host);

#endif
