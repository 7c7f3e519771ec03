#include "common/stream.h"

#include <nng/nng.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/channel_backlog.h"

enum { ACCEPT_RETRY_MS = 50 }; /* after a failed accept, such as "too many open files" */

struct stream {
    struct stream_handler handler;
    nng_stream_dialer *dialer; /* NULL on the listening side */
    nng_aio *rx, *tx;
    bool ipc, connecting;
    pthread_mutex_t lock; /* between the end of connecting and stream_close */
    nng_stream *stream; /* NULL until connected */
    bool closed;
};

struct acceptor {
    nng_stream_listener *listener;
    nng_aio *aio;
    void (*accepted)(void *arg, struct stream *s);
    void *arg;
    bool ipc;
    bool sleeping; /* callback only: the aio waits out a failure */
    pthread_mutex_t lock;
    bool closing; /* under the lock */
};

#ifdef __SANITIZE_THREAD__
/* After a failed dial nng's reaper drops the last reference to the dialer, whose mutex it then
 * destroys. The count is atomic, but within a library that ThreadSanitizer cannot look into. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:pthread_mutex_destroy\n";
}
#endif

static enum status from_nng(int rv)
{
    switch (rv) {
    case 0:
        return ST_OK;
    case NNG_ENOMEM:
        return ST_NOMEM;
    case NNG_EINVAL:
    case NNG_EADDRINVAL:
    case NNG_ENOTSUP:
        return ST_INVALID;
    case NNG_ETIMEDOUT:
        return ST_TIMEOUT;
    case NNG_ECANCELED:
        return ST_BAD_STATE;
    case NNG_ECLOSED:
    case NNG_ECONNREFUSED:
    case NNG_ECONNABORTED:
    case NNG_ECONNRESET:
    case NNG_ECONNSHUT:
        return ST_CLOSED;
    case NNG_EADDRINUSE:
        return ST_EXISTS;
    case NNG_ENOENT:
    case NNG_EUNREACHABLE:
        return ST_NOT_FOUND;
    case NNG_EPERM:
        return ST_DENIED;
    case NNG_ENOFILES:
        return ST_FULL;
    default:
        return ST_IO;
    }
}

/* nng knows more schemes than are safe or wanted here. */
static enum status check_url(const char *url, bool *out_ipc)
{
    static const char tcp[] = "tcp://", ipc[] = "ipc://";

    if (strncmp(url, tcp, strlen(tcp)) != 0 && strncmp(url, ipc, strlen(ipc)) != 0)
        return ST_INVALID;
    *out_ipc = url[0] == ipc[0];
    return ST_OK;
}

/* ---- streams ---- */

static void adopt(struct stream *s, nng_stream *stream)
{
    pthread_mutex_lock(&s->lock);
    s->stream = stream;
    if (s->closed) /* given up while the last packet was on its way */
        nng_stream_close(stream);
    pthread_mutex_unlock(&s->lock);
}

static void on_received(void *arg)
{
    struct stream *s = arg;
    const int rv = nng_aio_result(s->rx);
    size_t bytes = 0;

    if (rv == 0 && s->connecting)
        adopt(s, nng_aio_get_output(s->rx, 0));
    else if (rv == 0)
        bytes = nng_aio_count(s->rx);
    s->connecting = false;
    s->handler.received(s->handler.arg, from_nng(rv), bytes);
}

static void on_sent(void *arg)
{
    struct stream *s = arg;
    const int rv = nng_aio_result(s->tx);

    s->handler.sent(s->handler.arg, from_nng(rv), rv == 0 ? nng_aio_count(s->tx) : 0);
}

static enum status allocate(bool ipc, struct stream **out)
{
    struct stream *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ST_NOMEM;
    s->ipc = ipc;
    pthread_mutex_init(&s->lock, NULL);
    if (nng_aio_alloc(&s->rx, on_received, s) != 0 || nng_aio_alloc(&s->tx, on_sent, s) != 0) {
        stream_free(s);
        return ST_NOMEM;
    }
    *out = s;
    return ST_OK;
}

enum status stream_new(const char *url, struct stream **out)
{
    struct stream *s = NULL;
    bool ipc;
    enum status st = check_url(url, &ipc);

    if (st != ST_OK)
        return st;
    st = allocate(ipc, &s);
    if (st != ST_OK)
        return st;
    st = from_nng(nng_stream_dialer_alloc(&s->dialer, url));
    if (st != ST_OK) {
        stream_free(s);
        return st;
    }
    *out = s;
    return ST_OK;
}

void stream_connect(struct stream *s, unsigned timeout_ms)
{
    s->connecting = true;
    nng_aio_set_timeout(s->rx, (nng_duration)timeout_ms);
    nng_stream_dialer_dial(s->dialer, s->rx);
}

void stream_set_handler(struct stream *s, const struct stream_handler *handler)
{
    s->handler = *handler;
}

static void prepare(nng_aio *aio, void *bytes, size_t length, unsigned timeout_ms)
{
    const nng_iov iov = {.iov_buf = bytes, .iov_len = length};

    nng_aio_set_iov(aio, 1, &iov); /* one entry always fits */
    nng_aio_set_timeout(aio, timeout_ms == STREAM_FOREVER ? NNG_DURATION_INFINITE
                                                          : (nng_duration)timeout_ms);
}

void stream_receive(struct stream *s, uint8_t *into, size_t bytes, unsigned timeout_ms)
{
    prepare(s->rx, into, bytes, timeout_ms);
    nng_stream_recv(s->stream, s->rx);
}

void stream_send(struct stream *s, const uint8_t *from, size_t bytes, unsigned timeout_ms)
{
    prepare(s->tx, (void *)from, bytes, timeout_ms); /* nng only reads it */
    nng_stream_send(s->stream, s->tx);
}

void stream_cancel_send(struct stream *s)
{
    nng_aio_cancel(s->tx);
}

void stream_close(struct stream *s)
{
    pthread_mutex_lock(&s->lock);
    s->closed = true;
    if (s->dialer != NULL)
        nng_stream_dialer_close(s->dialer);
    if (s->stream != NULL)
        nng_stream_close(s->stream);
    pthread_mutex_unlock(&s->lock);
}

void stream_free(struct stream *s)
{
    if (s == NULL)
        return;
    if (s->dialer != NULL) /* first: nng's reaper lets go of the dialer with the stream */
        nng_stream_dialer_free(s->dialer);
    if (s->stream != NULL)
        nng_stream_free(s->stream);
    nng_aio_free(s->rx);
    nng_aio_free(s->tx);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

bool stream_is_ipc(const struct stream *s)
{
    return s->ipc;
}

void stream_name_peer(const struct stream *s, char out[STREAM_PEER_MAX])
{
    nng_sockaddr address;
    char text[INET6_ADDRSTRLEN] = "";

    snprintf(out, STREAM_PEER_MAX, "%s", s->ipc ? "ipc" : "unknown");
    if (s->ipc || s->stream == NULL ||
        nng_stream_get_addr(s->stream, NNG_OPT_REMADDR, &address) != 0)
        return;
    if (address.s_family == NNG_AF_INET) {
        inet_ntop(AF_INET, &address.s_in.sa_addr, text, sizeof(text));
        snprintf(out, STREAM_PEER_MAX, "%s:%u", text, ntohs(address.s_in.sa_port));
    } else if (address.s_family == NNG_AF_INET6) {
        inet_ntop(AF_INET6, address.s_in6.sa_addr, text, sizeof(text));
        snprintf(out, STREAM_PEER_MAX, "[%s]:%u", text, ntohs(address.s_in6.sa_port));
    }
}

/* ---- acceptors ---- */

static void hand_over(struct acceptor *a, nng_stream *stream)
{
    struct stream *s = NULL;

    if (allocate(a->ipc, &s) != ST_OK) {
        nng_stream_free(stream);
        return;
    }
    s->stream = stream;
    a->accepted(a->arg, s);
}

/* Ends only when we close it: for nng, a peer that resets early can look like a closed listener. */
static void on_accepted(void *arg)
{
    struct acceptor *a = arg;
    const int rv = nng_aio_result(a->aio);

    if (rv == 0 && !a->sleeping)
        hand_over(a, nng_aio_get_output(a->aio, 0));

    pthread_mutex_lock(&a->lock);
    if (!a->closing) {
        a->sleeping = rv != 0;
        if (a->sleeping)
            nng_sleep_aio(ACCEPT_RETRY_MS, a->aio);
        else
            nng_stream_listener_accept(a->listener, a->aio);
    }
    pthread_mutex_unlock(&a->lock);
}

enum status acceptor_open(const char *url, void (*accepted)(void *arg, struct stream *s), void *arg,
                          struct acceptor **out)
{
    enum status st = ST_NOMEM;
    struct acceptor *a = calloc(1, sizeof(*a));

    if (a == NULL)
        return ST_NOMEM;
    pthread_mutex_init(&a->lock, NULL);
    a->accepted = accepted;
    a->arg = arg;
    st = check_url(url, &a->ipc);
    if (st != ST_OK)
        goto out;
    st = from_nng(nng_stream_listener_alloc(&a->listener, url));
    if (st != ST_OK)
        goto out;
    st = from_nng(nng_aio_alloc(&a->aio, on_accepted, a));
    if (st != ST_OK)
        goto out;
    st = from_nng(nng_stream_listener_listen(a->listener));
    if (st != ST_OK)
        goto out;
    channel_raise_backlog(acceptor_port(a));
    nng_stream_listener_accept(a->listener, a->aio);

    *out = a;
    a = NULL;
out:
    acceptor_close(a);
    return st;
}

void acceptor_close(struct acceptor *a)
{
    if (a == NULL)
        return;
    pthread_mutex_lock(&a->lock);
    a->closing = true;
    pthread_mutex_unlock(&a->lock);
    if (a->listener != NULL)
        nng_stream_listener_close(a->listener);
    if (a->aio != NULL) {
        nng_aio_stop(a->aio);
        nng_aio_free(a->aio);
    }
    if (a->listener != NULL)
        nng_stream_listener_free(a->listener);
    pthread_mutex_destroy(&a->lock);
    free(a);
}

uint16_t acceptor_port(const struct acceptor *a)
{
    int port = 0;

    if (a->ipc || nng_stream_listener_get_int(a->listener, NNG_OPT_TCP_BOUND_PORT, &port) != 0)
        return 0;
    return (uint16_t)port;
}
