/* when - times and durations as people write them. Pure text functions; no clock is read. */
#ifndef COMMON_WHEN_H
#define COMMON_WHEN_H

#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/status.h"

/* Longest text that when_format or duration_format writes, with its NUL. */
enum { WHEN_TEXT_MAX = 40 };

/* "30s", "250ms", "5m", "1h30m", "7d", "2w"; a bare number is seconds.
 * ST_INVALID: not a duration, or more than 100 years. */
enum status duration_parse(const char *text, uint64_t *out_ns);

/* "now", "-1h" (before `now`), ISO 8601 ("2026-11-30T21:00:00Z", with an offset, or a date alone;
 * no zone means UTC), or epoch seconds (fraction allowed). ST_INVALID: none of these. */
enum status when_parse(const char *text, struct wall now, struct wall *out);

/* ISO 8601 in UTC with milliseconds: "2026-11-30T21:00:00.000Z". Returns `buffer`. */
const char *when_format(struct wall t, char buffer[WHEN_TEXT_MAX]);

/* Two leading units at most: "1h30m", "12.5s", "250ms". Returns `buffer`. */
const char *duration_format(uint64_t ns, char buffer[WHEN_TEXT_MAX]);

#endif
