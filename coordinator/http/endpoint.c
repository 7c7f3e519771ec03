#include "coordinator/http/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static enum status explain(const char *name, const char *step, int error,
                           char why[ENDPOINT_WHY_MAX])
{
    (void)snprintf(why, ENDPOINT_WHY_MAX, "%.150s: %s: %s", name, step, strerror(error));
    return status_from_errno(error);
}

/* Removes a socket file that refuses connections: its server was killed. */
static void remove_stale(const struct sockaddr_un *address)
{
    struct stat st;
    int fd;

    if (lstat(address->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
        return;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
        errno == ECONNREFUSED)
        (void)unlink(address->sun_path); /* bind reports it if this failed */
    (void)close(fd);
}

/* Mode before listen: until then nobody can connect, so there is no moment of wider rights. */
static enum status bind_unix(struct endpoint *e, const struct sockaddr_un *address,
                             char why[ENDPOINT_WHY_MAX])
{
    struct stat st;

    if (bind(e->fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
        return explain(address->sun_path, "bind", errno, why);
    if (lstat(address->sun_path, &st) != 0)
        return explain(address->sun_path, "stat", errno, why);
    e->path = strdup(address->sun_path);
    if (e->path == NULL)
        return ST_NOMEM;
    e->device = st.st_dev;
    e->inode = st.st_ino;
    if (chmod(address->sun_path, 0660) != 0)
        return explain(address->sun_path, "chmod", errno, why);
    if (listen(e->fd, ENDPOINT_BACKLOG) != 0)
        return explain(address->sun_path, "listen", errno, why);
    return ST_OK;
}

enum status endpoint_listen_unix(const char *path, struct endpoint *out, char why[ENDPOINT_WHY_MAX])
{
    struct endpoint e = {.fd = -1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    enum status st;

    if (strlen(path) >= sizeof(address.sun_path)) {
        (void)snprintf(why, ENDPOINT_WHY_MAX, "%.150s...: a socket path has at most %zu bytes",
                       path, sizeof(address.sun_path) - 1);
        return ST_INVALID;
    }
    memcpy(address.sun_path, path, strlen(path));
    remove_stale(&address);
    e.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (e.fd < 0)
        return explain(path, "socket", errno, why);
    st = bind_unix(&e, &address, why);
    if (st != ST_OK) {
        endpoint_close(&e);
        return st;
    }
    *out = e;
    return ST_OK;
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool parse_loopback(const char *host, uint16_t port, union address *out, socklen_t *length)
{
    union address a = {0};

    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &a.v4.sin_addr) == 1) {
        a.v4.sin_family = AF_INET;
        a.v4.sin_port = htons(port);
        *out = a;
        *length = sizeof(a.v4);
        return ntohl(a.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    if (inet_pton(AF_INET6, host, &a.v6.sin6_addr) == 1) {
        a.v6.sin6_family = AF_INET6;
        a.v6.sin6_port = htons(port);
        *out = a;
        *length = sizeof(a.v6);
        return IN6_IS_ADDR_LOOPBACK(&a.v6.sin6_addr);
    }
    return false;
}

static enum status bind_tcp(struct endpoint *e, const char *name, const union address *address,
                            socklen_t length, char why[ENDPOINT_WHY_MAX])
{
    union address bound = {0};
    int on = 1;

    if (setsockopt(e->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
        return explain(name, "SO_REUSEADDR", errno, why);
    if (bind(e->fd, &address->any, length) != 0)
        return explain(name, "bind", errno, why);
    if (listen(e->fd, ENDPOINT_BACKLOG) != 0)
        return explain(name, "listen", errno, why);
    if (getsockname(e->fd, &bound.any, &length) != 0)
        return explain(name, "getsockname", errno, why);
    e->port = ntohs(bound.any.sa_family == AF_INET ? bound.v4.sin_port : bound.v6.sin6_port);
    return ST_OK;
}

enum status endpoint_listen_tcp(const char *host, uint16_t port, struct endpoint *out,
                                char why[ENDPOINT_WHY_MAX])
{
    struct endpoint e = {.fd = -1};
    union address address;
    socklen_t length = 0;
    char name[96];
    enum status st;

    (void)snprintf(name, sizeof(name), "%.64s port %u", host, port);
    if (!parse_loopback(host, port, &address, &length)) {
        (void)snprintf(why, ENDPOINT_WHY_MAX,
                       "%.64s: not a loopback address; localhost, 127.0.0.1 or ::1 would be", host);
        return ST_INVALID;
    }
    e.fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (e.fd < 0)
        return explain(name, "socket", errno, why);
    st = bind_tcp(&e, name, &address, length, why);
    if (st != ST_OK) {
        endpoint_close(&e);
        return st;
    }
    *out = e;
    return ST_OK;
}

static void remove_file(const struct endpoint *e)
{
    struct stat st;

    if (lstat(e->path, &st) == 0 && st.st_dev == e->device && st.st_ino == e->inode)
        (void)unlink(e->path); /* a leftover is harmless: the next start replaces it */
}

void endpoint_close(struct endpoint *e)
{
    if (e->path != NULL)
        remove_file(e);
    free(e->path);
    if (e->fd >= 0)
        (void)close(e->fd);
    *e = (struct endpoint){.fd = -1};
}
