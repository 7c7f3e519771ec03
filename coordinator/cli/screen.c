#include "coordinator/cli/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_MIN = 40, COLUMNS_OTHERWISE = 80 };

static unsigned columns_of(int fd)
{
    struct winsize size;
    const char *wanted = getenv("COLUMNS");
    unsigned columns = wanted != NULL ? (unsigned)strtoul(wanted, NULL, 10) : 0;

    if (columns == 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (columns == 0)
        return COLUMNS_OTHERWISE;
    return columns < COLUMNS_MIN ? COLUMNS_MIN : columns;
}

struct screen screen_of(FILE *stream)
{
    int fd = fileno(stream); /* -1 for a stream in memory */
    const char *kind = getenv("TERM");
    const char *plain = getenv("NO_COLOR"); /* https://no-color.org: set and not empty */
    struct screen s = {.terminal = fd >= 0 && isatty(fd)};

    if (!s.terminal)
        return s;
    s.columns = columns_of(fd);
    s.colour = (plain == NULL || plain[0] == '\0') && kind != NULL && strcmp(kind, "dumb") != 0;
    return s;
}

const char *screen_on(const struct screen *s, enum tone tone)
{
    static const char *const codes[] = {
        [TONE_PLAIN] = "",        [TONE_SOFT] = "\033[2m",  [TONE_BOLD] = "\033[1m",
        [TONE_GOOD] = "\033[32m", [TONE_WARN] = "\033[33m", [TONE_BAD] = "\033[31m",
    };

    return s->colour ? codes[tone] : "";
}

const char *screen_off(const struct screen *s, enum tone tone)
{
    return s->colour && tone != TONE_PLAIN ? "\033[0m" : "";
}
