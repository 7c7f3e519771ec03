#include "coordinator/symbols/download.h"

#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HTTP_NOT_FOUND = 404, HTTP_GONE = 410 };

struct download {
    int fd;
    uint64_t left; /* bytes that are still accepted */
    const atomic_bool *stop;
    bool is_too_big;
};

static bool is_https(const char *url)
{
    return strncmp(url, "https://", strlen("https://")) == 0;
}

bool download_url_valid(const char *url)
{
    const char *host = strstr(url, "://");

    if (strlen(url) > DOWNLOAD_URL_MAX || (strncmp(url, "http://", 7) != 0 && !is_https(url)))
        return false;
    host += strlen("://");
    if (strcspn(host, "/:") == 0 && host[0] != '[')
        return false;
    for (const char *c = host; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~' || *c == '?' || *c == '#')
            return false;
    return true;
}

enum status download_setup(void)
{
    return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? ST_OK : ST_NOMEM;
}

/* libcurl's callbacks: anything but all of `count` ends the transfer, as does a true progress. */
static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct download *d = arg;
    size_t length = size * count;

    if (length > d->left) {
        d->is_too_big = true;
        return 0;
    }
    d->left -= length;
    for (size_t done = 0; done < length;) {
        ssize_t n = write(d->fd, bytes + done, length - done);

        if (n <= 0)
            return 0;
        done += (size_t)n;
    }
    return length;
}

static int on_progress(void *arg, curl_off_t down_all, curl_off_t down, curl_off_t up_all,
                       curl_off_t up)
{
    const struct download *d = arg;

    (void)down_all;
    (void)down;
    (void)up_all;
    (void)up;
    return atomic_load(d->stop);
}

static bool set_up(CURL *curl, const char *url, struct download *d)
{
    const char *redirects = is_https(url) ? "https" : "http,https";

    return curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, redirects) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_MAXREDIRS, (long)DOWNLOAD_REDIRECTS_MAX) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_USERAGENT, "fleetprofd/" FLEETPROF_VERSION) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)DOWNLOAD_CONNECT_S) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)DOWNLOAD_TOTAL_S) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, (long)DOWNLOAD_SLOW_BYTES) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)DOWNLOAD_SLOW_S) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)d->left) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_XFERINFODATA, d) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_WRITEDATA, d) == CURLE_OK;
}

static enum status transfer(CURL *curl, const struct download *d)
{
    CURLcode code = curl_easy_perform(curl);
    long answer = 0;

    if (code == CURLE_OK)
        return ST_OK;
    if (d->is_too_big || code == CURLE_FILESIZE_EXCEEDED)
        return ST_TOO_BIG;
    if (code == CURLE_HTTP_RETURNED_ERROR &&
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer) == CURLE_OK &&
        (answer == HTTP_NOT_FOUND || answer == HTTP_GONE))
        return ST_NOT_FOUND;
    if (code == CURLE_ABORTED_BY_CALLBACK)
        return ST_CLOSED;
    return code == CURLE_OPERATION_TIMEDOUT ? ST_TIMEOUT : ST_IO;
}

enum status download_debuginfo(const char *url, const struct build_id *id, uint64_t bytes_max,
                               const atomic_bool *stop, int fd)
{
    struct download d = {.fd = fd, .left = bytes_max, .stop = stop};
    char full[DOWNLOAD_URL_MAX + BUILD_ID_TEXT_MAX + 32], text[BUILD_ID_TEXT_MAX];
    int length = (int)strlen(url);
    enum status st = ST_NOMEM;
    CURL *curl = curl_easy_init();

    if (curl == NULL)
        return ST_NOMEM;
    while (length > 0 && url[length - 1] == '/')
        length--;
    snprintf(full, sizeof(full), "%.*s/buildid/%s/debuginfo", length, url,
             build_id_format(id, text));
    if (set_up(curl, full, &d))
        st = transfer(curl, &d);
    curl_easy_cleanup(curl);
    return st;
}
