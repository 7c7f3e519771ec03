/* fleet - status and agents: how the coordinator and its hosts are. */
#include <math.h>

#include "common/when.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/field.h"
#include "coordinator/cli/format.h"
#include "coordinator/cli/grid.h"
#include "coordinator/cli/question.h"

enum {
    PAIRS_MAX = 1024, /* bytes of labels or counters in one line */
    UPTIME_MAX_S = 2000000000, /* 63 years: fits a duration */
};

/* ---- status ---- */

static void print_store(struct cli *c, const struct json_t *store)
{
    static const char *const parts[] = {"chunks", "binaries", "frames", "nodes", "strings"};
    char bytes[FORMAT_MAX], count[FORMAT_MAX];
    double size = field_number(store, "catalog_bytes") + field_number(store, "chunk_bytes");

    fprintf(c->out, "store     %s:", format_bytes(size, bytes));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        fprintf(c->out, "%s %s %s", i > 0 ? "," : "",
                format_count(field_number(store, parts[i]), count), parts[i]);
    fputc('\n', c->out);
    if (field_flag(store, "disk_full"))
        fprintf(c->out, "%sstore     the disk is full; chunks wait in the agents' spools%s\n",
                screen_on(&c->screen, TONE_BAD), screen_off(&c->screen, TONE_BAD));
}

static void print_ingest(struct cli *c, const struct json_t *ingest)
{
    char chunks[FORMAT_MAX], samples[FORMAT_MAX], duplicates[FORMAT_MAX], bytes[FORMAT_MAX];
    char refused[PAIRS_MAX];

    field_nonzero(field(ingest, "refused"), refused, sizeof(refused));
    fprintf(c->out, "ingest    %s chunks, %s samples, %s since the start; duplicates: %s\n",
            format_count(field_number(ingest, "chunks"), chunks),
            format_count(field_number(ingest, "samples"), samples),
            format_bytes(field_number(ingest, "bytes"), bytes),
            format_count(field_number(ingest, "duplicates"), duplicates));
    if (refused[0] != '\0')
        fprintf(c->out, "%srefused   %s%s\n", screen_on(&c->screen, TONE_WARN), refused,
                screen_off(&c->screen, TONE_WARN));
}

static void print_status(struct cli *c, const struct options *o, const struct json_t *status)
{
    const struct json_t *agents = field(status, "agents"), *sessions = field(status, "sessions");
    double uptime = fmin(fmax(field_number(status, "uptime_s"), 0), UPTIME_MAX_S);
    char duration[WHEN_TEXT_MAX], link[PAIRS_MAX];

    (void)o;
    fprintf(c->out, "version   %s, up %s\n", field_text(status, "version"),
            duration_format((uint64_t)uptime * NS_PER_S, duration));
    fprintf(c->out, "agents    %.0f of %.0f connected\n", field_number(agents, "connected"),
            field_number(agents, "known"));
    fprintf(c->out, "sessions  %.0f of %.0f running\n", field_number(sessions, "running"),
            field_number(sessions, "total"));
    print_store(c, field(status, "store"));
    print_ingest(c, field(status, "ingest"));
    field_nonzero(field(status, "link"), link, sizeof(link));
    fprintf(c->out, "link      %s\n", link[0] != '\0' ? link : "quiet");
}

enum outcome command_status(struct cli *c, const struct options *o)
{
    struct path p;

    path_begin(&p, "/status");
    return ask_and_print(c, o, &p, print_status);
}

/* ---- agents ---- */

/* "cpu 99 Hz", or the reason why not. */
static void runs_cell(struct grid *g, const struct json_t *running)
{
    char runs[FORMAT_MAX * 4] = "";
    size_t at = 0;

    for (size_t i = 0; i < field_count(running) && at < sizeof(runs); i++) {
        const struct json_t *r = field_at(running, i);
        const char *reason = field_text(r, "reason");
        int length = snprintf(runs + at, sizeof(runs) - at, "%s%s %g Hz%s%s", i > 0 ? ", " : "",
                              field_text(r, "event"), field_number(r, "hz"),
                              reason[0] != '\0' ? ": " : "", reason);

        at += length > 0 ? (size_t)length : 0;
    }
    grid_cell(g, "%s", runs[0] != '\0' ? runs : "-");
}

static void add_agent(struct cli *c, struct grid *g, const struct json_t *a)
{
    const struct json_t *cost = field(a, "cost"), *spool = field(a, "spool");
    const char *degraded = field_text(a, "degraded");
    bool connected = field_flag(a, "connected");
    char text[FORMAT_MAX], labels[PAIRS_MAX];
    double dropped = field_number(spool, "dropped_chunks");

    grid_row(g, !connected ? TONE_BAD : degraded[0] != '\0' ? TONE_WARN : TONE_PLAIN);
    grid_cell(g, "%s", field_text(a, "host"));
    grid_cell(g, "%s", !connected ? "away" : degraded[0] != '\0' ? "degraded" : "connected");
    grid_cell(g, "%s", format_ago(field_text(a, "last_seen"), c->now, text));
    grid_cell(g, "%s", field_text(a, "version"));
    grid_cell(g, "%.0f", field_number(a, "cpus"));
    runs_cell(g, field(a, "running"));
    grid_cell(g, "%s", field_percent(a, "core_share", text));
    grid_cell(g, "%s", format_bytes(field_number(cost, "rss_bytes"), text));
    grid_cell(g, "%s", format_bytes(field_number(cost, "kernel_map_bytes"), text));
    grid_cell(g, "%s", field_percent(a, "lost_share", text));
    if (dropped > 0)
        grid_cell(g, "%.0f (%.0f lost)", field_number(spool, "chunks"), dropped);
    else
        grid_cell(g, "%.0f", field_number(spool, "chunks"));
    grid_cell(g, "%+.1f ms", field_number(a, "clock_offset_ms"));
    grid_cell(g, "%s%s%s", degraded, degraded[0] != '\0' ? "; " : "",
              field_pairs(field(a, "labels"), labels, sizeof(labels)));
}

static void print_agents(struct cli *c, const struct options *o, const struct json_t *answer)
{
    const struct json_t *agents = field(answer, "agents");
    static const struct grid_column columns[] = {
        {"HOST", GRID_TEXT},      {"STATE", GRID_TEXT},   {"SEEN", GRID_TEXT},
        {"VERSION", GRID_TEXT},   {"CPUS", GRID_NUMBER},  {"RUNS", GRID_TEXT},
        {"CORE", GRID_NUMBER},    {"RSS", GRID_NUMBER},   {"MAPS", GRID_NUMBER},
        {"LOST", GRID_NUMBER},    {"SPOOL", GRID_NUMBER}, {"CLOCK", GRID_NUMBER},
        {"LABELS", GRID_SHRINKS},
    };

    (void)o;
    if (field_count(agents) == 0) {
        fputs("No agent matches. fleetprof agents lists all that ever said hello.\n", c->out);
        return;
    }
    struct grid *g = grid_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < field_count(agents); i++)
        add_agent(c, g, field_at(agents, i));
    grid_print(g, c->out, &c->screen);
    grid_free(g);
}

enum outcome command_agents(struct cli *c, const struct options *o)
{
    struct path p;

    path_begin(&p, "/agents");
    path_add(&p, "select", o->argument_count > 0 ? o->argument[0] : NULL);
    return ask_and_print(c, o, &p, print_agents);
}
