/* endpoint - a listening socket: a UNIX path of mode 0660, or a loopback address. */
#ifndef COORDINATOR_HTTP_ENDPOINT_H
#define COORDINATOR_HTTP_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/status.h"

enum {
    ENDPOINT_WHY_MAX = 256,
    ENDPOINT_BACKLOG = 1024, /* connections that wait while all places are taken */
};

struct endpoint { /* closed by endpoint_close */
    int fd; /* -1: none */
    uint16_t port; /* TCP: as bound */
    char *path; /* UNIX: owned; NULL else */
    dev_t device; /* of the socket file, so that only our own is removed */
    ino_t inode;
};

/* A socket file that nobody serves any more is replaced. ST_INVALID: the path is too long;
 * ST_EXISTS: another process serves it, or it is no socket. `why` names the path. */
enum status endpoint_listen_unix(const char *path, struct endpoint *out,
                                 char why[ENDPOINT_WHY_MAX]);
/* "localhost", 127.x.y.z or ::1. ST_INVALID: any other address. */
enum status endpoint_listen_tcp(const char *host, uint16_t port, struct endpoint *out,
                                char why[ENDPOINT_WHY_MAX]);
void endpoint_close(struct endpoint *e); /* removes the socket file when it is still ours */

#endif
