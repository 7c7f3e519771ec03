#include "common/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 2048 }; /* a longer line is cut; it still ends with its newline */

static const char *const level_names[] = {"debug", "info", "warn", "error"};
static atomic_int lowest = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    atomic_store(&lowest, (int)level);
}

bool log_parse_level(const char *text, enum log_level *out)
{
    for (int i = LOG_LEVEL_DEBUG; i <= LOG_LEVEL_ERROR; i++) {
        if (strcmp(text, level_names[i]) == 0) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

void log_line(enum log_level level, const char *format, ...)
{
    char line[LINE_MAX_BYTES];
    va_list arguments;
    int head, body;
    size_t length;

    if ((int)level < atomic_load(&lowest))
        return;
    head = snprintf(line, sizeof(line), "level=%s ", level_names[level]);
    va_start(arguments, format);
    body = vsnprintf(line + head, sizeof(line) - (size_t)head, format, arguments);
    va_end(arguments);
    if (body < 0)
        return;

    length = (size_t)head + (size_t)body;
    if (length > sizeof(line) - 1)
        length = sizeof(line) - 1;
    line[length++] = '\n'; /* over the NUL: the line is written by length */
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* nowhere left to say it */
}
