#include "common/symbols/code_spans.h"

#include <stdlib.h>

enum { FIRST_ITEMS = 1024 };

struct merge {
    const struct code_spans *spans;
    uint32_t next_line, next_range;
    const struct span_line *line; /* the row that holds; NULL: none yet */
    const struct span_range *open[PLACES_DEPTH_MAX]; /* ranges around the position */
    uint32_t depth; /* how many are open */
};

enum status code_spans_add_line(struct code_spans *s, uint64_t start, uint32_t file, uint32_t line)
{
    if (s->line_count >= SPANS_LINES_MAX)
        return ST_FULL;
    if (s->line_count == s->line_capacity) {
        uint32_t capacity = s->line_capacity > 0 ? 2 * s->line_capacity : FIRST_ITEMS;
        struct span_line *lines = realloc(s->lines, capacity * sizeof(*lines));

        if (lines == NULL)
            return ST_NOMEM;
        s->lines = lines;
        s->line_capacity = capacity;
    }
    s->lines[s->line_count] = (struct span_line){start, file, line, s->line_count};
    s->line_count++;
    return ST_OK;
}

enum status code_spans_add_range(struct code_spans *s, struct span_range range)
{
    if (range.end <= range.start)
        return ST_OK;
    if (s->range_count >= SPANS_RANGES_MAX)
        return ST_FULL;
    if (s->range_count == s->range_capacity) {
        uint32_t capacity = s->range_capacity > 0 ? 2 * s->range_capacity : FIRST_ITEMS;
        struct span_range *ranges = realloc(s->ranges, capacity * sizeof(*ranges));

        if (ranges == NULL)
            return ST_NOMEM;
        s->ranges = ranges;
        s->range_capacity = capacity;
    }
    s->ranges[s->range_count++] = range;
    return ST_OK;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Where one run of rows ends and another begins, the beginning counts. */
static int compare_lines(const void *left, const void *right)
{
    const struct span_line *a = left, *b = right;
    int order = compare_numbers(a->start, b->start);

    if (order == 0)
        order = compare_numbers(a->file != 0, b->file != 0);
    return order != 0 ? order : compare_numbers(a->number, b->number);
}

/* In the order of their calls where they start together. */
static int compare_ranges(const void *left, const void *right)
{
    const struct span_range *a = left, *b = right;
    int order = compare_numbers(a->start, b->start);

    return order != 0 ? order : compare_numbers(a->call, b->call);
}

/* The first position at or after `at` where something begins or ends. */
static uint64_t next_position(const struct merge *m)
{
    const struct code_spans *s = m->spans;
    uint64_t next = UINT64_MAX;

    if (m->next_line < s->line_count)
        next = s->lines[m->next_line].start;
    if (m->next_range < s->range_count && s->ranges[m->next_range].start < next)
        next = s->ranges[m->next_range].start;
    for (uint32_t i = 0; i < m->depth; i++)
        if (m->open[i]->end < next)
            next = m->open[i]->end;
    return next;
}

static void close_ranges(struct merge *m, uint64_t at)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < m->depth; i++)
        if (m->open[i]->end > at)
            m->open[kept++] = m->open[i];
    m->depth = kept;
}

/* Deeper calls than an answer has room for are told by the ones around them. */
static void open_ranges(struct merge *m, uint64_t at)
{
    const struct code_spans *s = m->spans;

    for (; m->next_range < s->range_count && s->ranges[m->next_range].start <= at; m->next_range++)
        if (m->depth < PLACES_DEPTH_MAX)
            m->open[m->depth++] = &s->ranges[m->next_range];
}

static void take_lines(struct merge *m, uint64_t at)
{
    const struct code_spans *s = m->spans;

    for (; m->next_line < s->line_count && s->lines[m->next_line].start <= at; m->next_line++)
        m->line = &s->lines[m->next_line];
}

/* The first of the open calls that is directly inside `parent`; 0: none is. Compilers let siblings
 * overlap where they merged the code of both; then, as elsewhere, the first one counts. */
static uint32_t call_inside(const struct merge *m, const struct places *p, uint32_t parent)
{
    uint32_t first = 0;

    for (uint32_t i = 0; i < m->depth; i++) {
        uint32_t call = m->open[i]->call;

        if (p->calls[call - 1].parent == parent && (first == 0 || call < first))
            first = call;
    }
    return first;
}

static struct place_span span_at(const struct merge *m, const struct places *p, uint64_t at)
{
    struct place_span span = {.start = at};

    if (m->line != NULL && m->line->file != 0) {
        span.file = m->line->file;
        span.line = m->line->line;
    }
    for (uint32_t call = call_inside(m, p, 0); call != 0; call = call_inside(m, p, call))
        span.call = call;
    return span;
}

enum status code_spans_merge(struct code_spans *s, struct places *out)
{
    struct merge m = {.spans = s};
    enum status st = ST_OK;

    if (s->line_count > 0)
        qsort(s->lines, s->line_count, sizeof(*s->lines), compare_lines);
    if (s->range_count > 0)
        qsort(s->ranges, s->range_count, sizeof(*s->ranges), compare_ranges);
    for (uint64_t at = next_position(&m); at != UINT64_MAX && st == ST_OK; at = next_position(&m)) {
        close_ranges(&m, at);
        open_ranges(&m, at);
        take_lines(&m, at);
        st = places_add_span(out, span_at(&m, out, at));
    }
    return st;
}

void code_spans_deinit(struct code_spans *s)
{
    free(s->lines);
    free(s->ranges);
    *s = (struct code_spans){0};
}
