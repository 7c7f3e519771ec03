/* format - numbers as people read them. Each writes into `text` and returns it. */
#ifndef COORDINATOR_CLI_FORMAT_H
#define COORDINATOR_CLI_FORMAT_H

#include <stdint.h>

#include "common/clock.h"

enum { FORMAT_MAX = 48 };

const char *format_count(double value, char text[FORMAT_MAX]); /* "72,864" */
const char *format_cores(double value, char text[FORMAT_MAX]); /* "1.204" */
/* "1.204 ±0.031": half of the 95 % interval, the larger half when they differ. */
const char *format_interval(double value, double low, double high, char text[FORMAT_MAX]);
const char *format_percent(double share, char text[FORMAT_MAX]); /* 0..1 as "60.1%" */
const char *format_change(double cores, char text[FORMAT_MAX]); /* "+0.290" */
const char *format_points(double share, char text[FORMAT_MAX]); /* -0.031 as "-3.1" */
const char *format_bytes(double bytes, char text[FORMAT_MAX]); /* "29.6 MiB" */
/* The second of an API time, "2026-11-30 21:00:00"; "-" for an empty one. */
const char *format_moment(const char *iso, char text[FORMAT_MAX]);
/* "3s ago" of an API time, seen from `now`; "-" when it is not a time. */
const char *format_ago(const char *iso, struct wall now, char text[FORMAT_MAX]);

#endif
