#include "common/url.h"

#include <string.h>

#define TCP "tcp://"

bool url_is_loopback(const char *host, size_t length)
{
    static const char *const names[] = {"localhost", "::1", "[::1]"};

    if (length > 4 && strncmp(host, "127.", 4) == 0)
        return strspn(host, "0123456789.") >= length;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strlen(names[i]) == length && strncmp(host, names[i], length) == 0)
            return true;
    return false;
}

bool url_is_remote(const char *url)
{
    const char *host = url + strlen(TCP);
    const char *colon;

    if (strncmp(url, TCP, strlen(TCP)) != 0)
        return false;
    colon = strrchr(host, ':');
    return !url_is_loopback(host, colon != NULL ? (size_t)(colon - host) : strlen(host));
}
