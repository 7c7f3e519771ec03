/* questions - top, diff and ledger: what the samples say. */
#include <string.h>

#include "common/when.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/coverage.h"
#include "coordinator/cli/field.h"
#include "coordinator/cli/format.h"
#include "coordinator/cli/grid.h"
#include "coordinator/cli/question.h"
#include "coordinator/cli/ranking.h"
#include "coordinator/cli/side.h"

/* ---- top ---- */

enum outcome command_top(struct cli *c, const struct options *o)
{
    struct path p;

    path_begin(&p, "/top");
    enum outcome outcome = add_window(c, o, &p);
    if (outcome != OUTCOME_DONE)
        return outcome;
    path_add(&p, "by", options_text(o, OPTION_BY, "function"));
    path_add(&p, "limit", options_text(o, OPTION_LIMIT, LIMIT_DEFAULT_TEXT));
    return ask_and_print(c, o, &p, print_ranking);
}

/* ---- diff ---- */

static bool is_noise(const char *verdict)
{
    return strcmp(verdict, "noise") == 0 || strcmp(verdict, "not enough data") == 0;
}

static enum tone verdict_tone(const char *verdict)
{
    if (strcmp(verdict, "more") == 0 || strcmp(verdict, "new") == 0)
        return TONE_BAD;
    if (strcmp(verdict, "less") == 0 || strcmp(verdict, "vanished") == 0)
        return TONE_GOOD;
    return TONE_SOFT;
}

static void add_diff_row(struct grid *g, const struct json_t *diff, const struct json_t *row)
{
    const char *verdict = field_text(row, "verdict");
    char text[FORMAT_MAX], low[FORMAT_MAX], high[FORMAT_MAX];

    grid_row(g, verdict_tone(verdict));
    grid_cell(g, "%s", verdict);
    grid_cell(g, "%s", format_change(field_number(row, "cores_delta"), text));
    grid_cell(g, "%s..%s", format_change(field_number(row, "cores_delta_low"), low),
              format_change(field_number(row, "cores_delta_high"), high));
    grid_cell(g, "%s", format_cores(field_number(field(row, "a"), "cores"), text));
    grid_cell(g, "%s", format_cores(field_number(field(row, "b"), "cores"), text));
    grid_cell(g, "%s", format_points(field_number(row, "share_delta"), text));
    key_cells(g, diff, row);
}

/* Adds the rows that tell of a change (all with --all), up to the limit; counts the others. */
static size_t add_diff_rows(struct grid *g, const struct options *o, const struct json_t *diff,
                            size_t *noise)
{
    const struct json_t *rows = field(diff, "rows");
    size_t limit = options_number(o, OPTION_LIMIT, LIMIT_DEFAULT), told = 0;

    *noise = 0;
    for (size_t i = 0; i < field_count(rows); i++) {
        const struct json_t *row = field_at(rows, i);

        if (!options_has(o, OPTION_ALL) && is_noise(field_text(row, "verdict"))) {
            ++*noise;
            continue;
        }
        if (told++ < limit || limit == 0)
            add_diff_row(g, diff, row);
    }
    return told;
}

static void print_diff(struct cli *c, const struct options *o, const struct json_t *diff)
{
    struct grid_column columns[GRID_COLUMNS_MAX] = {
        {"VERDICT", GRID_TEXT}, {"CORES", GRID_NUMBER}, {"95% INTERVAL", GRID_NUMBER},
        {"A", GRID_NUMBER},     {"B", GRID_NUMBER},     {"POINTS", GRID_NUMBER}};
    struct grid *g = grid_new(columns, 6 + key_columns(diff, columns, 6));
    const struct json_t *a = field(diff, "a"), *b = field(diff, "b");
    size_t noise, limit = options_number(o, OPTION_LIMIT, LIMIT_DEFAULT);
    size_t told = add_diff_rows(g, o, diff, &noise);
    char text[FORMAT_MAX];

    print_coverage(c, "A", field(a, "coverage"), field_text(diff, "event"),
                   field_number(a, "cores"));
    print_coverage(c, "B", field(b, "coverage"), field_text(diff, "event"),
                   field_number(b, "cores"));
    if (told > 0)
        grid_print(g, c->out, &c->screen);
    else
        fputs("Nothing changed beyond the noise of sampling.\n", c->out);
    if (limit > 0 && told > limit)
        fprintf(c->out, "%s more; --limit 0 prints all\n",
                format_count((double)(told - limit), text));
    if (noise > 0)
        fprintf(c->out, "%s more within the noise of sampling; --all prints them\n",
                format_count((double)noise, text));
    grid_free(g);
}

enum outcome command_diff(struct cli *c, const struct options *o)
{
    struct path p;

    path_begin(&p, "/diff");
    enum outcome outcome = add_sides(c, o, &p);
    if (outcome != OUTCOME_DONE)
        return outcome;
    path_add(&p, "by", options_text(o, OPTION_BY, "function"));
    /* for people all rows are asked for: how many are noise is part of the answer */
    path_add(&p, "limit",
             options_has(o, OPTION_JSON) ? options_text(o, OPTION_LIMIT, LIMIT_DEFAULT_TEXT) : "0");
    return ask_and_print(c, o, &p, print_diff);
}

/* ---- ledger ---- */

static const struct grid_column ledger_columns[] = {
    {"HOST", GRID_TEXT},       {"FROM", GRID_TEXT},        {"TO", GRID_TEXT},
    {"HZ", GRID_NUMBER},       {"CHUNKS", GRID_NUMBER},    {"MISSING", GRID_NUMBER},
    {"EXPECTED", GRID_NUMBER}, {"DELIVERED", GRID_NUMBER}, {"IDLE", GRID_NUMBER},
    {"SKIPPED", GRID_NUMBER},  {"UNCOVERED", GRID_NUMBER}, {"ROOT", GRID_NUMBER},
    {"LOST", GRID_TEXT},
};
enum { LEDGER_COLUMNS = sizeof(ledger_columns) / sizeof(ledger_columns[0]), CAUSES_MAX = 256 };

/* The cells from CHUNKS on, which a line and the total share. */
static void ledger_counters(struct grid *g, const struct json_t *line)
{
    static const char *const keys[] = {"chunks", "missing_chunks", "expected",         "delivered",
                                       "idle",   "skipped",        "uncovered_samples"};
    char text[FORMAT_MAX], causes[CAUSES_MAX];

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        grid_cell(g, "%s", format_count(field_number(line, keys[i]), text));
    grid_cell(g, "%s", field_percent(line, "root_share", text));
    field_nonzero(field(line, "lost"), causes, sizeof(causes));
    grid_cell(g, "%s", causes[0] != '\0' ? causes : "0");
}

static bool is_short(const struct json_t *line)
{
    char causes[CAUSES_MAX];

    return field_number(line, "missing_chunks") > 0 ||
           field_number(line, "uncovered_samples") > 0 ||
           field_nonzero(field(line, "lost"), causes, sizeof(causes))[0] != '\0';
}

/* Nothing where no agent told. */
static void print_walks(struct cli *c, const struct json_t *total)
{
    char ends[CAUSES_MAX];

    field_nonzero(field(total, "walks"), ends, sizeof(ends));
    if (ends[0] != '\0')
        fprintf(c->out, "How walks of user stacks ended (none: kernel threads): %s\n", ends);
}

static void print_ledger(struct cli *c, const struct options *o, const struct json_t *ledger)
{
    const struct json_t *lines = field(ledger, "lines"), *total = field(ledger, "total");
    struct grid *g = grid_new(ledger_columns, LEDGER_COLUMNS);
    char text[FORMAT_MAX];

    (void)o;
    for (size_t i = 0; i < field_count(lines); i++) {
        const struct json_t *line = field_at(lines, i);

        grid_row(g, is_short(line) ? TONE_WARN : TONE_PLAIN);
        grid_cell(g, "%s", field_text(line, "host"));
        grid_cell(g, "%s", format_moment(field_text(line, "from"), text));
        grid_cell(g, "%s%s", format_moment(field_text(line, "to"), text),
                  field_flag(line, "final") ? "" : " ...");
        grid_cell(g, "%g", field_number(line, "hz"));
        ledger_counters(g, line);
    }
    grid_row(g, TONE_BOLD);
    grid_cell(g, "total");
    for (int empty = 0; empty < 3; empty++)
        grid_cell(g, "%s", "");
    ledger_counters(g, total);
    grid_print(g, c->out, &c->screen);
    grid_free(g);
    print_walks(c, total);
    fputs(
        "Samples, of whole chunks: expected = delivered + idle + skipped + lost. Idle is what the "
        "clocks ran beyond\nthe samples seen: not every idle CPU gives samples to count. "
        "Uncovered: "
        "wanted time without a chunk. Root: user\nstacks walked to their outermost frame. \"...\": "
        "more may come.\n",
        c->out);
}

enum outcome command_ledger(struct cli *c, const struct options *o)
{
    struct path p;

    path_begin(&p, "/ledger");
    enum outcome outcome = add_window(c, o, &p);
    if (outcome != OUTCOME_DONE)
        return outcome;
    return ask_and_print(c, o, &p, print_ledger);
}
