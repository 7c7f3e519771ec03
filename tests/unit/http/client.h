/* client - raw HTTP clients for tests, on the same thread as the server's loop: a test sends bytes,
 * turns the loop until something is true, and looks at the bytes that came back. */
#ifndef TESTS_UNIT_HTTP_CLIENT_H
#define TESTS_UNIT_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct client {
    int fd;
    char *received; /* NUL-terminated */
    size_t length, capacity;
    bool closed; /* by the server */
};

struct client *client_unix(const char *path);
struct client *client_tcp(uint16_t port);
void client_free(struct client *c); /* hangs up */

/* Turns `loop` while it sends. */
void client_send_bytes(uv_loop_t *loop, struct client *c, const char *bytes, size_t length);
void client_send(uv_loop_t *loop, struct client *c, const char *text);

/* Takes what has arrived. */
void client_pump(struct client *c);
/* A whole answer with a Content-Length, or the end of a chunked one, or the server hung up. */
bool client_has_answer(struct client *c);
unsigned client_code(const struct client *c); /* 0: nothing came */
const char *client_body(const struct client *c);
void client_forget(struct client *c); /* what was received */

/* Turns the loop until `is_true`; fails the test after ten seconds. */
void loop_until(uv_loop_t *loop, bool (*is_true)(void *arg), void *arg);
/* Sends and waits for the answer. */
void client_ask(uv_loop_t *loop, struct client *c, const char *text);

#endif
