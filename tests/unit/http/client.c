#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE_S = 40 };

static struct client *client_new(const struct sockaddr *address, socklen_t length)
{
    struct client *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    c->fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    assert_int_equal(connect(c->fd, address, length), 0);
    assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
    return c;
}

struct client *client_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
    return client_new((const struct sockaddr *)&address, sizeof(address));
}

struct client *client_tcp(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };

    return client_new((const struct sockaddr *)&address, sizeof(address));
}

void client_free(struct client *c)
{
    if (c == NULL)
        return;
    (void)close(c->fd);
    free(c->received);
    free(c);
}

static void client_make_room(struct client *c)
{
    char *received;

    if (c->capacity - c->length > 4096)
        return;
    c->capacity = c->capacity == 0 ? 16384 : c->capacity * 2;
    received = realloc(c->received, c->capacity);
    assert_non_null(received);
    c->received = received;
}

void client_pump(struct client *c)
{
    ssize_t n;

    do {
        client_make_room(c);
        n = recv(c->fd, c->received + c->length, c->capacity - c->length - 1, 0);
        if (n > 0)
            c->length += (size_t)n;
    } while (n > 0);
    c->received[c->length] = '\0';
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        c->closed = true;
}

void client_send_bytes(uv_loop_t *loop, struct client *c, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = send(c->fd, bytes, length, MSG_NOSIGNAL);

        if (n > 0) {
            bytes += n;
            length -= (size_t)n;
        } else if (errno != EAGAIN && errno != EINTR) {
            return; /* the server hung up: the test looks at `closed` */
        }
        uv_run(loop, UV_RUN_NOWAIT);
    }
}

void client_send(uv_loop_t *loop, struct client *c, const char *text)
{
    client_send_bytes(loop, c, text, strlen(text));
}

const char *client_body(const struct client *c)
{
    const char *end = c->received == NULL ? NULL : strstr(c->received, "\r\n\r\n");

    return end == NULL ? "" : end + 4;
}

unsigned client_code(const struct client *c)
{
    return c->length < 12 ? 0 : (unsigned)atoi(c->received + 9);
}

bool client_has_answer(struct client *c)
{
    const char *body, *length;

    client_pump(c);
    body = client_body(c);
    if (c->closed)
        return true;
    if (*body == '\0' && (c->received == NULL || strstr(c->received, "\r\n\r\n") == NULL))
        return false;
    length = strstr(c->received, "Content-Length: ");
    if (length != NULL && length < body)
        return strlen(body) >= strtoul(length + 16, NULL, 10);
    return strstr(body, "0\r\n\r\n") != NULL;
}

void client_forget(struct client *c)
{
    c->length = 0;
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

void loop_until(uv_loop_t *loop, bool (*is_true)(void *arg), void *arg)
{
    double deadline = now_s() + PATIENCE_S;

    for (;;) {
        struct pollfd fd = {.fd = uv_backend_fd(loop), .events = POLLIN};

        (void)uv_run(loop, UV_RUN_NOWAIT);
        if (is_true(arg))
            return;
        if (now_s() > deadline)
            fail_msg("nothing happened for %d s", PATIENCE_S);
        (void)poll(&fd, 1, 1); /* a client's bytes may be the next event, so not for long */
    }
}

static bool has_answer(void *arg)
{
    return client_has_answer(arg);
}

void client_ask(uv_loop_t *loop, struct client *c, const char *text)
{
    client_forget(c);
    client_send(loop, c, text);
    loop_until(loop, has_answer, c);
}
