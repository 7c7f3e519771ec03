#include "agent/perf/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLINE_PATH "/sys/devices/system/cpu/online"

enum { LIST_TEXT_MAX = 4096 }; /* sysfs gives no more than a page */

static bool parse_number(const char **text, uint32_t *out)
{
    uint32_t value = 0;

    if (!isdigit((unsigned char)**text))
        return false;
    for (; isdigit((unsigned char)**text); (*text)++) {
        value = value * 10 + (uint32_t)(**text - '0');
        if (value >= CPUS_MAX)
            return false;
    }
    *out = value;
    return true;
}

static enum status add_range(struct cpus *c, uint32_t first, uint32_t last)
{
    if (last < first || (c->count > 0 && first <= c->ids[c->count - 1]))
        return ST_INVALID;
    for (uint32_t id = first; id <= last; id++)
        c->ids[c->count++] = id;
    return ST_OK;
}

/* Numbers ascend and are below CPUS_MAX, so there can be no more than CPUS_MAX of them. */
static enum status parse_ranges(const char *text, struct cpus *c)
{
    while (*text != '\0' && *text != '\n') {
        uint32_t first, last;

        if (!parse_number(&text, &first))
            return ST_INVALID;
        last = first;
        if (*text == '-') {
            text++;
            if (!parse_number(&text, &last))
                return ST_INVALID;
        }
        if (add_range(c, first, last) != ST_OK)
            return ST_INVALID;
        if (*text == ',')
            text++;
    }
    return c->count > 0 ? ST_OK : ST_INVALID;
}

enum status cpus_parse(const char *text, struct cpus *out)
{
    struct cpus *c = calloc(1, sizeof(*c)); /* 32 KiB: not for the stack */
    enum status st = ST_NOMEM;

    if (c == NULL)
        return ST_NOMEM;
    st = parse_ranges(text, c);
    if (st == ST_OK)
        *out = *c;
    free(c);
    return st;
}

enum status cpus_online(struct cpus *out)
{
    char text[LIST_TEXT_MAX];
    int fd = open(ONLINE_PATH, O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0)
        return status_from_errno(errno);
    length = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (length <= 0)
        return ST_IO;
    text[length] = '\0';
    return cpus_parse(text, out);
}

bool cpus_equal(const struct cpus *a, const struct cpus *b)
{
    return a->count == b->count && memcmp(a->ids, b->ids, a->count * sizeof(a->ids[0])) == 0;
}

bool cpus_contain(const struct cpus *c, uint32_t id)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (c->ids[i] == id)
            return true;
    return false;
}
