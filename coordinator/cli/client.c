#include "coordinator/cli/client.h"

#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire.h"
#include "coordinator/cli/sse.h"

enum {
    CONNECT_TIMEOUT_MS = 5000, /* loopback or a data centre: longer means nobody is there */
    ANSWER_TIMEOUT_MS = 300 * 1000, /* a question over months of samples may take its time */
    STREAM_POLL_MS = 200, /* how soon Ctrl-C is noticed */
    URL_BYTES_MAX = 8192,
    WHY_BYTES_MAX = 512,
};

/* A flame graph of a large fleet is tens of megabytes; past this the answer is not ours. */
#define REPLY_BYTES_MAX ((size_t)512 << 20)

struct client {
    CURL *curl;
    char *socket; /* NULL: TCP */
    char *base; /* scheme, host and port */
    char curl_error[CURL_ERROR_SIZE];
    char why[WHY_BYTES_MAX];
};

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The path of a UNIX socket, or NULL when `url` is of another kind. */
static const char *socket_path(const char *url)
{
    if (starts_with(url, "unix:/"))
        return url + strlen("unix:");
    return url[0] == '/' ? url : NULL;
}

bool client_url_valid(const char *url)
{
    const char *path = socket_path(url);

    if (path != NULL)
        return path[1] != '\0';
    return (starts_with(url, "http://") && url[strlen("http://")] != '\0') ||
           (starts_with(url, "https://") && url[strlen("https://")] != '\0');
}

enum status client_new(const char *url, struct client **out)
{
    enum status st = ST_NOMEM;
    struct client *c;

    if (!client_url_valid(url))
        return ST_INVALID;
    c = calloc(1, sizeof(*c));
    if (c == NULL || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        goto out;
    const char *path = socket_path(url);
    c->curl = curl_easy_init();
    c->socket = path != NULL ? strdup(path) : NULL;
    c->base = strdup(path != NULL ? "http://localhost" : url);
    if (c->curl == NULL || c->base == NULL || (path != NULL && c->socket == NULL))
        goto out;
    for (size_t n = strlen(c->base); n > 0 && c->base[n - 1] == '/'; n--)
        c->base[n - 1] = '\0';

    *out = c;
    c = NULL;
    st = ST_OK;
out:
    client_free(c);
    return st;
}

void client_free(struct client *c)
{
    if (c == NULL)
        return;
    if (c->curl != NULL)
        curl_easy_cleanup(c->curl);
    free(c->socket);
    free(c->base);
    free(c);
}

void reply_deinit(struct reply *r)
{
    free(r->body);
    *r = (struct reply){0};
}

const char *client_why(const struct client *c)
{
    return c->why;
}

static enum status from_curl(CURLcode code)
{
    switch ((int)code) { /* few of curl's hundred codes matter here */
    case CURLE_OK:
        return ST_OK;
    case CURLE_OUT_OF_MEMORY:
        return ST_NOMEM;
    case CURLE_OPERATION_TIMEDOUT:
        return ST_TIMEOUT;
    case CURLE_COULDNT_CONNECT:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
        return ST_CLOSED;
    case CURLE_WRITE_ERROR:
        return ST_TOO_BIG;
    default:
        return ST_IO;
    }
}

static enum status explain(struct client *c, CURLcode code)
{
    const char *what = c->curl_error[0] ? c->curl_error : curl_easy_strerror(code);
    const char *scheme = c->socket != NULL ? "unix:" : "";
    const char *place = c->socket != NULL ? c->socket : c->base;
    long error = 0;

    curl_easy_getinfo(c->curl, CURLINFO_OS_ERRNO, &error);
    if (code == CURLE_COULDNT_CONNECT)
        snprintf(c->why, sizeof(c->why),
                 "nobody answers at %s%s (%s): is fleetprofd running? --url says where", scheme,
                 place, error != 0 ? strerror((int)error) : what);
    else
        snprintf(c->why, sizeof(c->why), "the coordinator at %s%s does not answer: %s", scheme,
                 place, what);
    return from_curl(code);
}

/* curl's callback: appends to the reply. A short count ends the transfer with CURLE_WRITE_ERROR. */
static size_t append(char *bytes, size_t size, size_t count, void *arg)
{
    struct reply *r = arg;
    size_t more = size * count;

    if (more > REPLY_BYTES_MAX - r->length)
        return 0;
    char *grown = realloc(r->body, r->length + more + 1);
    if (grown == NULL)
        return 0;
    memcpy(grown + r->length, bytes, more);
    r->body = grown;
    r->length += more;
    r->body[r->length] = '\0';
    return more;
}

/* ST_TOO_BIG: the URL is longer than its limit. */
static enum status prepare(struct client *c, const char *path)
{
    char url[URL_BYTES_MAX];
    int length = snprintf(url, sizeof(url), "%s" CLIENT_API "%s", c->base, path);

    c->why[0] = '\0';
    c->curl_error[0] = '\0';
    if (length < 0 || (size_t)length >= sizeof(url)) {
        snprintf(c->why, sizeof(c->why), "the question is longer than %d bytes", URL_BYTES_MAX);
        return ST_TOO_BIG;
    }
    curl_easy_reset(c->curl);
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    if (c->socket != NULL)
        curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, c->socket);
    curl_easy_setopt(c->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(c->curl, CURLOPT_NOPROXY, "*"); /* no proxy stands before a coordinator */
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->curl_error);
    curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    curl_easy_setopt(c->curl, CURLOPT_USERAGENT, "fleetprof/" FLEETPROF_VERSION);
    return ST_OK;
}

static enum status perform(struct client *c, struct reply *out)
{
    struct reply r = {0};

    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)ANSWER_TIMEOUT_MS);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &r);
    CURLcode code = curl_easy_perform(c->curl);
    if (r.body == NULL) /* an empty body is a body */
        r.body = calloc(1, 1);
    if (r.body == NULL)
        code = CURLE_OUT_OF_MEMORY;
    if (code != CURLE_OK) {
        reply_deinit(&r);
        return explain(c, code);
    }
    curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &r.code);
    *out = r;
    return ST_OK;
}

enum status client_get(struct client *c, const char *path, struct reply *out)
{
    enum status st = prepare(c, path);

    return st == ST_OK ? perform(c, out) : st;
}

static enum status post(struct client *c, const char *path, const char *type, struct slice body,
                        struct reply *out)
{
    struct curl_slist *headers = NULL;
    enum status st = prepare(c, path);

    if (st != ST_OK)
        return st;
    headers = curl_slist_append(headers, type);
    if (headers == NULL)
        return ST_NOMEM;
    curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.length);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, (const char *)body.bytes);
    st = perform(c, out);
    curl_slist_free_all(headers);
    return st;
}

enum status client_post(struct client *c, const char *path, const char *json, struct reply *out)
{
    const char *body = json != NULL ? json : "";

    return post(c, path, "Content-Type: application/json",
                (struct slice){(const uint8_t *)body, strlen(body)}, out);
}

enum status client_post_bytes(struct client *c, const char *path, const void *bytes, size_t length,
                              struct reply *out)
{
    return post(c, path, "Content-Type: application/octet-stream", (struct slice){bytes, length},
                out);
}

/* ---- server-sent events ---- */

struct streaming {
    struct client *client;
    struct sse sse;
    struct reply refusal; /* the body of an answer that is not 200 */
    bool left; /* `each` had enough */
};

static size_t take_stream(char *bytes, size_t size, size_t count, void *arg)
{
    struct streaming *s = arg;
    long code = 0;

    curl_easy_getinfo(s->client->curl, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200) /* HTTP's OK */
        return append(bytes, size, count, &s->refusal);
    switch (sse_feed(&s->sse, bytes, size * count)) {
    case SSE_MORE:
        return size * count;
    case SSE_LEFT:
        s->left = true;
        return 0;
    case SSE_TOO_BIG:
        return 0;
    }
    return 0;
}

/* Drives one transfer, ringing `each` between the waits; the curl code that ended it. */
static CURLcode drive(CURLM *multi, struct streaming *s)
{
    CURLcode result = CURLE_OK;
    int running = 1, queued = 0;

    while (running > 0 && !s->left) {
        if (curl_multi_perform(multi, &running) != CURLM_OK ||
            (running > 0 && curl_multi_poll(multi, NULL, 0, STREAM_POLL_MS, NULL) != CURLM_OK))
            return CURLE_RECV_ERROR;
        if (running > 0 && !s->sse.each(s->sse.arg, NULL))
            s->left = true;
    }
    for (CURLMsg *m; (m = curl_multi_info_read(multi, &queued)) != NULL;)
        if (m->msg == CURLMSG_DONE)
            result = m->data.result;
    return s->left ? CURLE_OK : result;
}

enum status client_stream(struct client *c, const char *path,
                          bool (*each)(void *arg, const char *data), void *arg, struct reply *out)
{
    struct streaming s = {.client = c, .sse = {.each = each, .arg = arg}};
    CURLM *multi = NULL;
    enum status st = prepare(c, path);

    if (st != ST_OK)
        return st;
    st = ST_NOMEM;
    multi = curl_multi_init();
    if (multi == NULL)
        goto out;
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_stream);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &s);
    if (curl_multi_add_handle(multi, c->curl) != CURLM_OK)
        goto out;
    CURLcode code = drive(multi, &s);
    curl_multi_remove_handle(multi, c->curl);
    st = code == CURLE_OK ? ST_OK : explain(c, code);
    if (st == ST_OK) {
        curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &s.refusal.code);
        *out = s.refusal;
        s.refusal = (struct reply){0};
    }
out:
    if (multi != NULL)
        curl_multi_cleanup(multi);
    sse_deinit(&s.sse);
    reply_deinit(&s.refusal);
    return st;
}
