#include "tests/unit/cli/stub.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { REQUEST_MAX = 16384, ASKED_MAX = 16384, PATH_MAX_BYTES = 64 };

struct stub {
    const struct canned *answers;
    unsigned used[CANNED_MAX];
    char directory[PATH_MAX_BYTES], url[2 * PATH_MAX_BYTES];
    struct sockaddr_un address;
    int listener;
    int stop[2]; /* a pipe: closing its write end ends the thread */
    pthread_t thread;
    bool running;
    char asked[ASKED_MAX];
};

/* Until the body that Content-Length tells of is there. */
static bool read_request(int fd, char *text)
{
    size_t length = 0;

    while (length + 1 < REQUEST_MAX) {
        ssize_t n = read(fd, text + length, REQUEST_MAX - 1 - length);

        if (n <= 0)
            return false;
        length += (size_t)n;
        text[length] = '\0';
        const char *end = strstr(text, "\r\n\r\n");
        if (end == NULL)
            continue;
        const char *given = strcasestr(text, "content-length:");
        size_t body = given != NULL ? strtoul(given + strlen("content-length:"), NULL, 10) : 0;
        if (length >= (size_t)(end + 4 - text) + body)
            return true;
    }
    return false;
}

static const struct canned *find_answer(struct stub *s, const char *request)
{
    static const struct canned none = {.code = 500,
                                       .body = "{\"error\":{\"message\":\"nothing is canned\"}}"};

    for (size_t i = 0; s->answers[i].request != NULL; i++) {
        const struct canned *a = &s->answers[i];

        if (strncmp(request, a->request, strlen(a->request)) != 0 ||
            (a->uses > 0 && s->used[i] == a->uses))
            continue;
        s->used[i]++;
        return a;
    }
    return &none;
}

static void note(struct stub *s, const char *request)
{
    size_t at = strlen(s->asked);
    const char *body = strstr(request, "\r\n\r\n") + 4;

    snprintf(s->asked + at, sizeof(s->asked) - at, "%.*s%s%s\n", (int)strcspn(request, "\r"),
             request, body[0] != '\0' ? " " : "", body);
}

static void answer(struct stub *s, int fd)
{
    char request[REQUEST_MAX], head[256];

    if (!read_request(fd, request))
        return;
    const struct canned *a = find_answer(s, request);
    note(s, request);
    int length = snprintf(head, sizeof(head),
                          "HTTP/1.1 %d Canned\r\nContent-Type: %s\r\nConnection: close\r\n\r\n",
                          a->code, a->type != NULL ? a->type : "application/json");
    if (write(fd, head, (size_t)length) == length && write(fd, a->body, strlen(a->body)) < 0)
        perror("stub");
    if (a->signal != 0)
        kill(getpid(), a->signal);
}

static void *serve(void *arg)
{
    struct stub *s = arg;
    struct pollfd watched[2] = {{.fd = s->listener, .events = POLLIN},
                                {.fd = s->stop[0], .events = POLLIN}};

    while (poll(watched, 2, -1) > 0 && watched[1].revents == 0) {
        int fd = accept(s->listener, NULL, NULL);

        if (fd < 0)
            continue;
        answer(s, fd);
        close(fd);
    }
    return NULL;
}

static bool listen_at(struct stub *s)
{
    snprintf(s->directory, sizeof(s->directory), "/tmp/fleetprof-stub-XXXXXX");
    if (mkdtemp(s->directory) == NULL)
        return false;
    s->address.sun_family = AF_UNIX;
    snprintf(s->address.sun_path, sizeof(s->address.sun_path), "%s/api.sock", s->directory);
    snprintf(s->url, sizeof(s->url), "unix:%s", s->address.sun_path);
    s->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    return s->listener >= 0 &&
           bind(s->listener, (struct sockaddr *)&s->address, sizeof(s->address)) == 0 &&
           listen(s->listener, 8) == 0 && pipe(s->stop) == 0;
}

struct stub *stub_start(const struct canned *answers)
{
    struct stub *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->answers = answers;
    s->listener = s->stop[0] = s->stop[1] = -1;
    s->running = listen_at(s) && pthread_create(&s->thread, NULL, serve, s) == 0;
    if (s->running)
        return s;
    stub_stop(s);
    return NULL;
}

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void stub_stop(struct stub *s)
{
    if (s == NULL)
        return;
    close_if_open(s->stop[1]);
    if (s->running)
        pthread_join(s->thread, NULL);
    close_if_open(s->stop[0]);
    close_if_open(s->listener);
    unlink(s->address.sun_path);
    rmdir(s->directory);
    free(s);
}

const char *stub_url(const struct stub *s)
{
    return s->url;
}

const char *stub_asked(const struct stub *s)
{
    return s->asked;
}
