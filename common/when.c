#include "common/when.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DURATION_MAX_NS (100 * UINT64_C(365) * 86400 * NS_PER_S)
#define WALL_MAX_S 4102444800.0 /* 2100-01-01 */

/* unit, ns; longest first, so that "ms" is not read as "m" */
static const struct unit {
    const char *text;
    uint64_t ns;
} units[] = {
    {"w", UINT64_C(7) * 86400 * NS_PER_S},
    {"d", 86400 * NS_PER_S},
    {"h", 3600 * NS_PER_S},
    {"ms", NS_PER_MS},
    {"us", NS_PER_US},
    {"ns", 1},
    {"m", 60 * NS_PER_S},
    {"s", NS_PER_S},
};

static const struct unit *unit_at(const char *text)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (strncmp(text, units[i].text, strlen(units[i].text)) == 0)
            return &units[i];
    return NULL;
}

/* A plain decimal number; strtod would also take "inf", "0x1" and a sign. */
static bool read_number(const char **text, double *out)
{
    char *end;

    if (!isdigit((unsigned char)**text) || strncmp(*text, "0x", 2) == 0 ||
        strncmp(*text, "0X", 2) == 0)
        return false;
    *out = strtod(*text, &end);
    *text = end;
    return isfinite(*out);
}

enum status duration_parse(const char *text, uint64_t *out_ns)
{
    const char *start = text;
    double total = 0;

    if (*text == '\0')
        return ST_INVALID;
    while (*text != '\0') {
        bool alone = text == start;
        const struct unit *unit;
        double number;

        if (!read_number(&text, &number))
            return ST_INVALID;
        unit = unit_at(text);
        if (unit == NULL && (!alone || *text != '\0'))
            return ST_INVALID; /* only a number alone may do without a unit: seconds */
        total += number * (double)(unit == NULL ? NS_PER_S : unit->ns);
        text += unit == NULL ? 0 : strlen(unit->text);
    }
    if (!(total <= (double)DURATION_MAX_NS))
        return ST_INVALID;
    *out_ns = (uint64_t)llround(total);
    return ST_OK;
}

/* "", "Z" or "+hh:mm" / "+hhmm". */
static bool read_zone(const char *text, int *out_seconds)
{
    int hours, minutes, used = 0;

    *out_seconds = 0;
    if (*text == '\0' || strcmp(text, "Z") == 0)
        return true;
    if (*text != '+' && *text != '-')
        return false;
    if (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 &&
        sscanf(text + 1, "%2d%2d%n", &hours, &minutes, &used) != 2)
        return false;
    if (text[1 + used] != '\0' || hours > 14 || minutes > 59)
        return false;
    *out_seconds = (hours * 60 + minutes) * 60 * (*text == '-' ? -1 : 1);
    return true;
}

static bool read_iso(const char *text, double *out_seconds)
{
    struct tm t = {0};
    double fraction = 0;
    int zone;
    const char *rest = strptime(text, "%Y-%m-%d", &t);

    if (rest == NULL)
        return false;
    if (*rest == 'T' || *rest == ' ') {
        const char *time_text = rest + 1;

        rest = strptime(time_text, "%H:%M:%S", &t);
        if (rest == NULL)
            rest = strptime(time_text, "%H:%M", &t);
        if (rest == NULL)
            return false;
    }
    if (*rest == '.' && isdigit((unsigned char)rest[1])) {
        char *end;

        fraction = strtod(rest, &end);
        rest = end;
    }
    if (!read_zone(rest, &zone))
        return false;
    *out_seconds = (double)(timegm(&t) - zone) + fraction;
    return true;
}

static enum status from_seconds(double seconds, struct wall *out)
{
    if (!(seconds >= 0 && seconds <= WALL_MAX_S))
        return ST_INVALID;
    /* whole and fractional part apart: a double holds today's ns only to about 200 */
    *out = (struct wall){(uint64_t)seconds * NS_PER_S +
                         (uint64_t)llround(fmod(seconds, 1.0) * 1e6) * NS_PER_US};
    return ST_OK;
}

enum status when_parse(const char *text, struct wall now, struct wall *out)
{
    double seconds;
    const char *rest = text;

    if (strcmp(text, "now") == 0) {
        *out = now;
        return ST_OK;
    }
    if (text[0] == '-') {
        uint64_t back;
        enum status st = duration_parse(text + 1, &back);

        if (st != ST_OK || back > now.ns)
            return ST_INVALID;
        *out = (struct wall){now.ns - back};
        return ST_OK;
    }
    if (read_number(&rest, &seconds) && *rest == '\0')
        return from_seconds(seconds, out);
    if (read_iso(text, &seconds))
        return from_seconds(seconds, out);
    return ST_INVALID;
}

const char *when_format(struct wall t, char buffer[WHEN_TEXT_MAX])
{
    time_t seconds = (time_t)(t.ns / NS_PER_S);
    struct tm parts;
    char date[24];

    if (gmtime_r(&seconds, &parts) == NULL ||
        strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &parts) == 0) {
        (void)snprintf(buffer, WHEN_TEXT_MAX, "?");
        return buffer;
    }
    (void)snprintf(buffer, WHEN_TEXT_MAX, "%s.%03" PRIu64 "Z", date, t.ns / NS_PER_MS % 1000);
    return buffer;
}

const char *duration_format(uint64_t ns, char buffer[WHEN_TEXT_MAX])
{
    uint64_t seconds = ns / NS_PER_S, tenths = ns / (100 * NS_PER_MS), us = ns / NS_PER_US;

    if (ns < NS_PER_S)
        (void)snprintf(buffer, WHEN_TEXT_MAX, "%gms", (double)us / 1000);
    else if (seconds < 60)
        (void)snprintf(buffer, WHEN_TEXT_MAX, "%gs", (double)tenths / 10);
    else if (seconds < 3600)
        (void)snprintf(buffer, WHEN_TEXT_MAX, "%" PRIu64 "m%" PRIu64 "s", seconds / 60,
                       seconds % 60);
    else if (seconds < 86400)
        (void)snprintf(buffer, WHEN_TEXT_MAX, "%" PRIu64 "h%" PRIu64 "m", seconds / 3600,
                       seconds / 60 % 60);
    else
        (void)snprintf(buffer, WHEN_TEXT_MAX, "%" PRIu64 "d%" PRIu64 "h", seconds / 86400,
                       seconds / 3600 % 24);
    return buffer;
}
