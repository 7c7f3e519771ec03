#include "coordinator/cli/grid.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
    GAP = 2, /* blanks between columns */
    SHRUNK_MIN = 12, /* a name cut further says nothing: the line overflows instead */
};

struct row {
    enum tone tone;
    unsigned filled;
    char *cells[GRID_COLUMNS_MAX]; /* owned; NULL: empty */
};

struct grid {
    struct grid_column columns[GRID_COLUMNS_MAX];
    unsigned column_count;
    struct row *rows;
    size_t row_count, row_room;
};

/* ---- the measure of text ---- */

struct glyph {
    size_t bytes;
    unsigned columns;
    bool shown; /* false: a '?' stands for it */
};

static struct glyph glyph_at(const char *text)
{
    wchar_t wide;
    mbstate_t state = {0};
    size_t bytes = mbrtowc(&wide, text, MB_LEN_MAX, &state);

    if (bytes == 0 || bytes > MB_LEN_MAX) /* (size_t)-1 and -2: no character */
        return (struct glyph){1, 1, false};
    int columns = wcwidth(wide);
    if (columns < 0)
        return (struct glyph){bytes, 1, false};
    return (struct glyph){bytes, (unsigned)columns, true};
}

unsigned text_columns(const char *text)
{
    unsigned columns = 0;

    for (struct glyph g; *text != '\0'; text += g.bytes) {
        g = glyph_at(text);
        columns += g.columns;
    }
    return columns;
}

unsigned text_print(FILE *out, const char *text, unsigned columns)
{
    bool cut = text_columns(text) > columns;
    unsigned room = cut && columns > 0 ? columns - 1 : columns, printed = 0;

    for (struct glyph g; *text != '\0'; text += g.bytes) {
        g = glyph_at(text);
        if (printed + g.columns > room)
            break;
        if (g.shown)
            fwrite(text, 1, g.bytes, out);
        else
            fputc('?', out);
        printed += g.columns;
    }
    if (cut && columns > 0) {
        fputs("…", out);
        printed++;
    }
    return printed;
}

/* ---- filling ---- */

struct grid *grid_new(const struct grid_column *columns, unsigned count)
{
    struct grid *g = calloc(1, sizeof(*g));

    if (g == NULL)
        return NULL;
    g->column_count = count < GRID_COLUMNS_MAX ? count : GRID_COLUMNS_MAX;
    memcpy(g->columns, columns, g->column_count * sizeof(*columns));
    return g;
}

void grid_free(struct grid *g)
{
    if (g == NULL)
        return;
    for (size_t i = 0; i < g->row_count; i++)
        for (unsigned k = 0; k < g->column_count; k++)
            free(g->rows[i].cells[k]);
    free(g->rows);
    free(g);
}

void grid_row(struct grid *g, enum tone tone)
{
    if (g == NULL)
        return;
    if (g->row_count == g->row_room) {
        size_t room = g->row_room == 0 ? 32 : 2 * g->row_room;
        struct row *grown = reallocarray(g->rows, room, sizeof(*grown));

        if (grown == NULL)
            return; /* cells go to the row before: a garbled table in a process out of memory */
        g->rows = grown;
        g->row_room = room;
    }
    g->rows[g->row_count++] = (struct row){.tone = tone};
}

void grid_cell(struct grid *g, const char *format, ...)
{
    va_list arguments;

    if (g == NULL || g->row_count == 0)
        return;
    struct row *row = &g->rows[g->row_count - 1];
    if (row->filled == g->column_count)
        return;
    char **cell = &row->cells[row->filled++];
    va_start(arguments, format);
    if (vasprintf(cell, format, arguments) < 0)
        *cell = NULL;
    va_end(arguments);
}

/* ---- printing ---- */

static const char *cell_of(const struct row *row, unsigned column)
{
    return row->cells[column] != NULL ? row->cells[column] : "";
}

static void measure(const struct grid *g, unsigned widths[GRID_COLUMNS_MAX])
{
    for (unsigned k = 0; k < g->column_count; k++) {
        widths[k] = text_columns(g->columns[k].title);
        for (size_t i = 0; i < g->row_count; i++) {
            unsigned width = text_columns(cell_of(&g->rows[i], k));

            if (width > widths[k])
                widths[k] = width;
        }
    }
}

static void shrink(const struct grid *g, unsigned columns, unsigned widths[GRID_COLUMNS_MAX])
{
    unsigned total = GAP * (g->column_count - 1);

    for (unsigned k = 0; k < g->column_count; k++)
        total += widths[k];
    for (unsigned k = 0; k < g->column_count && total > columns; k++) {
        if (g->columns[k].kind != GRID_SHRINKS || widths[k] <= SHRUNK_MIN)
            continue;
        unsigned spare = widths[k] - SHRUNK_MIN, over = total - columns;

        widths[k] -= spare < over ? spare : over;
        return;
    }
}

/* Blanks are printed when something follows them: no line ends in one. */
static void print_cells(const struct grid *g, FILE *out, const unsigned widths[GRID_COLUMNS_MAX],
                        const struct row *row)
{
    unsigned owed = 0;

    for (unsigned k = 0; k < g->column_count; k++) {
        const char *text = row != NULL ? cell_of(row, k) : g->columns[k].title;
        unsigned width = text_columns(text);
        unsigned pad = width < widths[k] ? widths[k] - width : 0;

        if (k > 0)
            owed += GAP;
        if (g->columns[k].kind == GRID_NUMBER) {
            owed += pad;
            pad = 0;
        }
        if (*text != '\0') {
            fprintf(out, "%*s", (int)owed, "");
            text_print(out, text, widths[k]);
            owed = 0;
        } else {
            owed += width;
        }
        owed += pad;
    }
}

void grid_print(const struct grid *g, FILE *out, const struct screen *screen)
{
    unsigned widths[GRID_COLUMNS_MAX];

    if (g == NULL)
        return;
    measure(g, widths);
    if (screen->columns > 0)
        shrink(g, screen->columns, widths);
    fputs(screen_on(screen, TONE_BOLD), out);
    print_cells(g, out, widths, NULL);
    fprintf(out, "%s\n", screen_off(screen, TONE_BOLD));
    for (size_t i = 0; i < g->row_count; i++) {
        fputs(screen_on(screen, g->rows[i].tone), out);
        print_cells(g, out, widths, &g->rows[i]);
        fprintf(out, "%s\n", screen_off(screen, g->rows[i].tone));
    }
}
