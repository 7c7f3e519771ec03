#include "coordinator/cli/sse.h"

#include <stdlib.h>
#include <string.h>

/* Adds bytes and a NUL; false: over the limit, or out of memory. */
static bool add(char **text, size_t *length, const char *bytes, size_t count)
{
    if (count > SSE_EVENT_BYTES_MAX - *length)
        return false;
    char *grown = realloc(*text, *length + count + 1);
    if (grown == NULL)
        return false;
    if (count > 0)
        memcpy(grown + *length, bytes, count);
    *text = grown;
    *length += count;
    grown[*length] = '\0';
    return true;
}

/* A line is "field: value" or "field:value"; an empty one ends the event. */
static enum sse_result take_line(struct sse *s)
{
    static const char field[] = "data:";
    const size_t prefix = sizeof(field) - 1;
    enum sse_result result = SSE_MORE;

    if (s->line_length == 0) {
        if (s->data != NULL && !s->each(s->arg, s->data))
            result = SSE_LEFT;
        free(s->data);
        s->data = NULL;
        s->data_length = 0;
    } else if (strncmp(s->line, field, prefix) == 0) {
        const char *value = s->line + prefix;

        value += *value == ' ';
        if ((s->data != NULL && !add(&s->data, &s->data_length, "\n", 1)) ||
            !add(&s->data, &s->data_length, value, strlen(value)))
            return SSE_TOO_BIG;
    }
    s->line_length = 0;
    if (s->line != NULL)
        s->line[0] = '\0';
    return result;
}

enum sse_result sse_feed(struct sse *s, const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t run = at;

        while (run < length && bytes[run] != '\n' && bytes[run] != '\r')
            run++;
        if (run > at && !add(&s->line, &s->line_length, bytes + at, run - at))
            return SSE_TOO_BIG;
        if (run > at)
            s->after_return = false;
        if (run == length)
            return SSE_MORE;
        bool pair = s->after_return && bytes[run] == '\n';
        s->after_return = bytes[run] == '\r';
        at = run + 1;
        if (pair)
            continue;
        enum sse_result result = take_line(s);
        if (result != SSE_MORE)
            return result;
    }
    return SSE_MORE;
}

void sse_deinit(struct sse *s)
{
    free(s->line);
    free(s->data);
    s->line = s->data = NULL;
    s->line_length = s->data_length = 0;
}
