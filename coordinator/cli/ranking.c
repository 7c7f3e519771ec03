#include "coordinator/cli/ranking.h"

#include <string.h>

#include "coordinator/cli/coverage.h"
#include "coordinator/cli/field.h"
#include "coordinator/cli/format.h"
#include "coordinator/cli/grid.h"
#include "coordinator/cli/question.h"

static bool has_binary(const struct json_t *answer)
{
    const struct json_t *by = field(answer, "by");

    for (size_t i = 0; i < field_count(by); i++)
        if (strcmp(field_text_at(by, i), "function") == 0)
            return true;
    return false;
}

/* Static storage: titles outlive the grid. */
static const char *title_of(const char *by)
{
    static const char *const titles[][2] = {{"function", "FUNCTION"}, {"binary", "BINARY"},
                                            {"service", "SERVICE"},   {"host", "HOST"},
                                            {"thread", "THREAD"},     {"class", "CLASS"}};

    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (strcmp(titles[i][0], by) == 0)
            return titles[i][1];
    return "KEY";
}

unsigned key_columns(const struct json_t *answer, struct grid_column *columns, unsigned at)
{
    const struct json_t *by = field(answer, "by");
    unsigned before = at;

    for (size_t i = 0; i < field_count(by) && at + 1 < GRID_COLUMNS_MAX; i++) {
        const char *key = field_text_at(by, i);
        bool shrinks = strcmp(key, "function") == 0;

        columns[at++] = (struct grid_column){title_of(key), shrinks ? GRID_SHRINKS : GRID_TEXT};
    }
    if (has_binary(answer))
        columns[at++] = (struct grid_column){"BINARY", GRID_TEXT};
    return at - before;
}

/* A binary is known by its file name; "[kernel]" has no folder. */
static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void key_cells(struct grid *g, const struct json_t *answer, const struct json_t *row)
{
    const struct json_t *by = field(answer, "by"), *key = field(row, "key");

    for (size_t i = 0; i < field_count(by); i++) {
        const char *text = field_text_at(key, i);
        bool path = strcmp(field_text_at(by, i), "binary") == 0;

        grid_cell(g, "%s", text[0] == '\0' ? "-" : path ? file_name(text) : text);
    }
    if (has_binary(answer))
        grid_cell(g, "%s", file_name(field_text(row, "binary")));
}

static void add_row(struct grid *g, const struct json_t *top, const struct json_t *row)
{
    const struct json_t *self = field(row, "self"), *total = field(row, "total");
    double low = field_number(row, "rank_low"), high = field_number(row, "rank_high");
    char text[FORMAT_MAX];

    grid_row(g, TONE_PLAIN);
    if (low == high)
        grid_cell(g, "%.0f", low);
    else
        grid_cell(g, "%.0f-%.0f", low, high);
    grid_cell(g, "%s", format_percent(field_number(self, "share"), text));
    grid_cell(g, "%s",
              format_interval(field_number(self, "cores"), field_number(self, "cores_low"),
                              field_number(self, "cores_high"), text));
    grid_cell(g, "%s", format_percent(field_number(total, "share"), text));
    key_cells(g, top, row);
}

/* What the limit cut off. */
static void print_folded(struct cli *c, const struct json_t *top)
{
    size_t shown = field_count(field(top, "rows"));
    double found = field_number(top, "rows_found");
    char count[FORMAT_MAX], share[FORMAT_MAX];

    if (found > (double)shown)
        fprintf(c->out, "%s%s more rows hold %s of the self time; --limit 0 prints all%s\n",
                screen_on(&c->screen, TONE_SOFT), format_count(found - (double)shown, count),
                format_percent(field_number(top, "folded_share"), share),
                screen_off(&c->screen, TONE_SOFT));
}

/* A share of named frames below this stands out. */
#define NAMED_WELL 0.95

/* "97.3% of frames named": a frame without a name is shown as binary+0xoffset. */
static void print_naming(struct cli *c, const struct json_t *names)
{
    double share = field_number(names, "share");
    enum tone tone = share < NAMED_WELL ? TONE_WARN : TONE_PLAIN;
    char text[FORMAT_MAX];

    if (field_number(names, "frames") == 0)
        return;
    fprintf(c->out, "%s%s of frames named%s", screen_on(&c->screen, tone),
            format_percent(share, text), screen_off(&c->screen, tone));
    if (share < NAMED_WELL)
        fputs("; fleetprof symbols list shows whose names are missing", c->out);
    fputc('\n', c->out);
}

void print_ranking(struct cli *c, const struct options *o, const struct json_t *top)
{
    bool waits = waits_are_counted(field_text(top, "event"));
    struct grid_column columns[GRID_COLUMNS_MAX] = {
        {"RANK", GRID_NUMBER},
        {"SELF", GRID_NUMBER},
        {waits ? "SELF THREADS" : "SELF CORES", GRID_NUMBER},
        {"TOTAL", GRID_NUMBER}};
    const struct json_t *rows = field(top, "rows");
    unsigned count = 4 + key_columns(top, columns, 4);

    (void)o;
    print_coverage(c, field_text(top, "event"), field(top, "coverage"), field_text(top, "event"),
                   field_number(top, "cores"));
    if (field_count(rows) == 0) {
        fputs("No samples here. fleetprof sessions lists what was taken, fleetprof ledger what was "
              "lost.\n",
              c->out);
        return;
    }
    print_naming(c, field(top, "names"));
    struct grid *g = grid_new(columns, count);
    for (size_t i = 0; i < field_count(rows); i++)
        add_row(g, top, field_at(rows, i));
    grid_print(g, c->out, &c->screen);
    grid_free(g);
    print_folded(c, top);
}
