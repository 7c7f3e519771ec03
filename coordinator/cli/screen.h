/* screen - what a stream leads to: a terminal with a width and colours, or a pipe. */
#ifndef COORDINATOR_CLI_SCREEN_H
#define COORDINATOR_CLI_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

struct screen {
    bool terminal;
    bool colour; /* a terminal that is not dumb, and $NO_COLOR is not set */
    unsigned columns; /* 0: no limit */
};

enum tone { TONE_PLAIN, TONE_SOFT, TONE_BOLD, TONE_GOOD, TONE_WARN, TONE_BAD };

struct screen screen_of(FILE *stream);

/* Escape codes around a text of that tone; "" without colours. */
const char *screen_on(const struct screen *s, enum tone tone);
const char *screen_off(const struct screen *s, enum tone tone);

#endif
