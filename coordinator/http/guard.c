#include "coordinator/http/guard.h"

#include <string.h>
#include <strings.h>

enum { UNPRINTABLE = 0x01 }; /* stands for an escape that must not pass */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

size_t guard_unescape(char *text)
{
    const char *from = text;
    char *to = text;

    while (*from != '\0') {
        int high, low;

        if (*from != '%') {
            *to++ = *from++;
            continue;
        }
        high = hex_digit(from[1]);
        low = high < 0 ? -1 : hex_digit(from[2]);
        if (low < 0) {
            *to++ = UNPRINTABLE;
            from++;
            continue;
        }
        *to++ = (char)(high * 16 + low == 0 ? UNPRINTABLE : high * 16 + low);
        from += 3;
    }
    *to = '\0';
    return (size_t)(to - text);
}

bool guard_text_is_clean(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

bool guard_path_is_clean(const char *path)
{
    const char *segment = path;

    if (*path != '/' || !guard_text_is_clean(path))
        return false;
    while (segment != NULL) {
        size_t length = strcspn(++segment, "/");

        if (length == 2 && segment[0] == '.' && segment[1] == '.')
            return false;
        segment = segment[length] == '/' ? segment + length : NULL;
    }
    return true;
}

static bool is_port(const char *text)
{
    size_t digits = strspn(text, "0123456789");

    return digits >= 1 && digits <= 5 && text[digits] == '\0';
}

bool guard_host_is_local(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = strlen(names[i]);

        if (strncasecmp(host, names[i], length) != 0)
            continue;
        if (host[length] == '\0' || (host[length] == ':' && is_port(host + length + 1)))
            return true;
    }
    return false;
}

bool guard_origin_is_ours(const char *origin, const char *host)
{
    static const char scheme[] = "http://";

    return strncasecmp(origin, scheme, sizeof(scheme) - 1) == 0 &&
           strcasecmp(origin + sizeof(scheme) - 1, host) == 0;
}
