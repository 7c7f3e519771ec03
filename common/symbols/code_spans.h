/* code_spans - makes one run of places out of what debug information has in two: rows of lines, and
 * ranges of inlined calls inside each other. Both may come in any order and overlap as they like.
 */
#ifndef COMMON_SYMBOLS_CODE_SPANS_H
#define COMMON_SYMBOLS_CODE_SPANS_H

#include <stdint.h>

#include "common/places.h"
#include "common/status.h"

enum {
    SPANS_LINES_MAX = 2 * PLACES_SPANS_MAX, /* many rows say the same as those before */
    SPANS_RANGES_MAX = 2 * PLACES_CALLS_MAX, /* a call may have its code in several pieces */
};

struct span_line { /* a row: reaches to the next one; file 0 ends a run */
    uint64_t start;
    uint32_t file, line;
    uint32_t number; /* the order in which rows came, which sorting keeps */
};

struct span_range {
    uint64_t start, end;
    uint32_t call; /* one of the places that code_spans_merge is given */
};

struct code_spans { /* zero-initialised is empty */
    struct span_line *lines;
    struct span_range *ranges;
    uint32_t line_count, line_capacity, range_count, range_capacity;
};

enum status code_spans_add_line(struct code_spans *s, uint64_t start, uint32_t file, uint32_t line);
enum status code_spans_add_range(struct code_spans *s,
                                 struct span_range range); /* empty ones are dropped */

/* Sorts both and adds what they say to `out`. ST_FULL: what did not fit is missing; ST_NOMEM. */
enum status code_spans_merge(struct code_spans *s, struct places *out);
void code_spans_deinit(struct code_spans *s);

#endif
