#include "coordinator/cli/format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/when.h"

const char *format_count(double value, char text[FORMAT_MAX])
{
    char digits[FORMAT_MAX];
    int length = snprintf(digits, sizeof(digits), "%.0f", value);
    size_t at = 0;

    if (length <= 0 || length > 24) { /* past 10^24 nobody counts samples */
        snprintf(text, FORMAT_MAX, "%g", value);
        return text;
    }
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

/* What would be rounded to nothing is said to be small instead. */
#define CORES_SHOWN_MIN 0.0005

const char *format_cores(double value, char text[FORMAT_MAX])
{
    if (value > 0 && value < CORES_SHOWN_MIN)
        snprintf(text, FORMAT_MAX, "<0.001");
    else
        snprintf(text, FORMAT_MAX, fabs(value) < 100 ? "%.3f" : "%.1f", value);
    return text;
}

const char *format_interval(double value, double low, double high, char text[FORMAT_MAX])
{
    double half = fmax(high - value, value - low);
    char cores[FORMAT_MAX];

    format_cores(value, cores);
    snprintf(text, FORMAT_MAX, fabs(value) < 100 ? "%s ±%.3f" : "%s ±%.1f", cores, half);
    return text;
}

const char *format_percent(double share, char text[FORMAT_MAX])
{
    double percent = share * 100;

    if (percent > 0 && percent < 0.005)
        snprintf(text, FORMAT_MAX, "<0.01%%");
    else
        snprintf(text, FORMAT_MAX, fabs(percent) < 9.995 ? "%.2f%%" : "%.1f%%", percent);
    return text;
}

const char *format_change(double cores, char text[FORMAT_MAX])
{
    snprintf(text, FORMAT_MAX, fabs(cores) < 100 ? "%+.3f" : "%+.1f", cores);
    return text;
}

const char *format_points(double share, char text[FORMAT_MAX])
{
    snprintf(text, FORMAT_MAX, "%+.2f", share * 100);
    return text;
}

const char *format_bytes(double bytes, char text[FORMAT_MAX])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;

    for (; bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
        bytes /= 1024;
    snprintf(text, FORMAT_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text;
}

const char *format_moment(const char *iso, char text[FORMAT_MAX])
{
    enum { DATE = 10, TO_SECOND = 19 }; /* "2026-11-30", "2026-11-30T21:00:00" */

    snprintf(text, FORMAT_MAX, "%.*s", TO_SECOND, iso[0] != '\0' ? iso : "-");
    if (strlen(text) > DATE && text[DATE] == 'T')
        text[DATE] = ' ';
    return text;
}

const char *format_ago(const char *iso, struct wall now, char text[FORMAT_MAX])
{
    char duration[WHEN_TEXT_MAX];
    struct wall then;

    if (iso[0] == '\0' || when_parse(iso, now, &then) != ST_OK) {
        snprintf(text, FORMAT_MAX, "-");
        return text;
    }
    uint64_t seconds = now.ns > then.ns ? (now.ns - then.ns) / NS_PER_S : 0;
    snprintf(text, FORMAT_MAX, "%s ago", duration_format(seconds * NS_PER_S, duration));
    return text;
}
