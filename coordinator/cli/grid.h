/* grid - a text table: aligned columns, two blanks apart, one line a row. On a terminal the column
 * that may shrink is cut so that lines fit; in a pipe nothing is. Cells are measured in terminal
 * columns, not bytes, and control characters (names come from binaries) are shown as '?'. */
#ifndef COORDINATOR_CLI_GRID_H
#define COORDINATOR_CLI_GRID_H

#include <stdio.h>

#include "coordinator/cli/screen.h"

enum { GRID_COLUMNS_MAX = 16 };

enum grid_kind {
    GRID_TEXT, /* to the left */
    GRID_NUMBER, /* to the right */
    GRID_SHRINKS, /* text that may be cut to fit; one column at most */
};

struct grid_column {
    const char *title; /* borrowed */
    enum grid_kind kind;
};

struct grid; /* opaque; NULL stands for one that could not be made and swallows everything */

struct grid *grid_new(const struct grid_column *columns, unsigned count);
void grid_free(struct grid *g);

/* Begins a row; cells that are not given stay empty, cells past the last column are ignored. */
void grid_row(struct grid *g, enum tone tone);
void grid_cell(struct grid *g, const char *format, ...) __attribute__((format(printf, 2, 3)));

void grid_print(const struct grid *g, FILE *out, const struct screen *screen);

/* ---- the measure of text, for other lines that must fit ---- */

/* Terminal columns of `text`. Needs a UTF-8 LC_CTYPE; cli_main sets one. */
unsigned text_columns(const char *text);
/* Prints at most `columns` of it, the last one '…' when something was cut; control characters as
 * '?'. Returns the columns printed. */
unsigned text_print(FILE *out, const char *text, unsigned columns);

#endif
