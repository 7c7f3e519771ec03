/* sessions - start, stop, rate, sessions and watch: the life of a session. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/event.h"
#include "common/when.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/field.h"
#include "coordinator/cli/follow.h"
#include "coordinator/cli/format.h"
#include "coordinator/cli/grid.h"
#include "coordinator/cli/question.h"
#include "coordinator/cli/ranking.h"
#include "coordinator/cli/user.h"

#define DURATION_DEFAULT "30s"
/* After its end a session waits for the last chunks; --wait does not wait longer than this. */
enum { WAIT_GRACE_S = 60 };

/* ---- printing ---- */

static const struct grid_column session_columns[] = {
    {"ID", GRID_TEXT},        {"STATE", GRID_TEXT},  {"SELECTOR", GRID_SHRINKS},
    {"EVENT", GRID_TEXT},     {"HZ", GRID_NUMBER},   {"HOSTS", GRID_NUMBER},
    {"SAMPLES", GRID_NUMBER}, {"LOST", GRID_NUMBER}, {"STARTED", GRID_TEXT},
    {"ENDS", GRID_TEXT},      {"OWNER", GRID_TEXT},  {"NOTE", GRID_TEXT},
};
enum { SESSION_COLUMNS = sizeof(session_columns) / sizeof(session_columns[0]) };

static void add_session(struct grid *g, const struct json_t *s)
{
    const char *selector = field_text(s, "selector");
    bool running = strcmp(field_text(s, "state"), "running") == 0;
    char id[FIELD_ID_MAX], text[FORMAT_MAX];

    grid_row(g, running ? TONE_BOLD : TONE_PLAIN);
    grid_cell(g, "%s", field_id(s, "id", id));
    grid_cell(g, "%s", field_text(s, "state"));
    grid_cell(g, "%s", selector[0] != '\0' ? selector : "*");
    grid_cell(g, "%s", field_text(s, "event"));
    grid_cell(g, "%g", field_number(s, "hz"));
    grid_cell(g, "%zu", field_count(field(s, "hosts")));
    grid_cell(g, "%s", format_count(field_number(s, "samples"), text));
    grid_cell(g, "%s", format_count(field_number(s, "lost"), text));
    grid_cell(g, "%s", format_moment(field_text(s, "created"), text));
    grid_cell(g, "%s", format_moment(field_text(s, "ends"), text));
    grid_cell(g, "%s", field_text(s, "owner"));
    grid_cell(g, "%s", field_text(s, "note"));
}

static void print_sessions(struct cli *c, const struct options *o, const struct json_t *answer)
{
    const struct json_t *sessions = field(answer, "sessions");
    double rest = field_number(answer, "total") - (double)field_count(sessions);
    char count[FORMAT_MAX];

    (void)o;
    if (field_count(sessions) == 0) {
        fputs("No session yet. Start one with: fleetprof start '*' --for 30s --wait\n", c->out);
        return;
    }
    struct grid *g = grid_new(session_columns, SESSION_COLUMNS);
    for (size_t i = 0; i < field_count(sessions); i++)
        add_session(g, field_at(sessions, i));
    grid_print(g, c->out, &c->screen);
    grid_free(g);
    if (rest > 0)
        fprintf(c->out, "%s older ones; --limit 0 prints all\n", format_count(rest, count));
}

static bool delivered_nothing(const struct json_t *host)
{
    return field_number(host, "chunks") == 0 && field_number(host, "samples") == 0;
}

static void print_hosts(struct cli *c, const struct json_t *hosts)
{
    static const struct grid_column columns[] = {
        {"HOST", GRID_TEXT},   {"STATE", GRID_TEXT},    {"SAMPLES", GRID_NUMBER},
        {"LOST", GRID_NUMBER}, {"CHUNKS", GRID_NUMBER}, {"REASON", GRID_SHRINKS},
    };
    struct grid *g = grid_new(columns, sizeof(columns) / sizeof(columns[0]));
    char text[FORMAT_MAX];

    for (size_t i = 0; i < field_count(hosts); i++) {
        const struct json_t *h = field_at(hosts, i);

        grid_row(g, field_text(h, "reason")[0] != '\0' ? TONE_WARN : TONE_PLAIN);
        grid_cell(g, "%s", field_text(h, "host"));
        grid_cell(g, "%s", field_text(h, "state"));
        grid_cell(g, "%s", format_count(field_number(h, "samples"), text));
        grid_cell(g, "%s", format_count(field_number(h, "lost"), text));
        grid_cell(g, "%s", format_count(field_number(h, "chunks"), text));
        grid_cell(g, "%s", field_text(h, "reason"));
    }
    grid_print(g, c->out, &c->screen);
    grid_free(g);
}

static void print_session(struct cli *c, const struct options *o, const struct json_t *s)
{
    struct grid *g = grid_new(session_columns, SESSION_COLUMNS);

    (void)o;
    add_session(g, s);
    grid_print(g, c->out, &c->screen);
    grid_free(g);
    if (field_count(field(s, "hosts")) > 0) {
        fputc('\n', c->out);
        print_hosts(c, field(s, "hosts"));
    }
}

/* Names on `err` each host that delivered nothing. PARTIAL when there is one, or no host at all. */
static enum outcome judge(struct cli *c, const struct json_t *s)
{
    const struct json_t *hosts = field(s, "hosts");
    enum outcome outcome = OUTCOME_DONE;

    if (field_count(hosts) == 0)
        return cli_fail(c, OUTCOME_PARTIAL, "no host matched '%s'; fleetprof agents lists them",
                        field_text(s, "selector"));
    for (size_t i = 0; i < field_count(hosts); i++) {
        const struct json_t *h = field_at(hosts, i);
        const char *reason = field_text(h, "reason");
        bool refused = strcmp(field_text(h, "state"), "refused") == 0;

        if (refused || delivered_nothing(h))
            outcome = cli_fail(c, OUTCOME_PARTIAL, "%s %s%s%s", field_text(h, "host"),
                               refused ? "refused" : "delivered nothing",
                               reason[0] != '\0' ? ": " : "", reason);
    }
    return outcome;
}

/* ---- sessions ---- */

/* /sessions/ID, or /sessions/ID/REST. */
static enum outcome session_path(struct cli *c, const char *given, const char *rest, struct path *p)
{
    char id[SESSION_ID_MAX];
    enum outcome outcome = resolve_session(c, given, id);

    if (outcome != OUTCOME_DONE)
        return outcome;
    path_begin(p, "/sessions");
    path_segment(p, id);
    if (rest != NULL)
        path_segment(p, rest);
    return OUTCOME_DONE;
}

enum outcome command_sessions(struct cli *c, const struct options *o)
{
    struct path p;
    enum outcome outcome;

    if (o->argument_count > 0) {
        outcome = session_path(c, o->argument[0], NULL, &p);
        return outcome == OUTCOME_DONE ? ask_and_print(c, o, &p, print_session) : outcome;
    }
    path_begin(&p, "/sessions");
    path_add(&p, "limit", options_text(o, OPTION_LIMIT, NULL));
    return ask_and_print(c, o, &p, print_sessions);
}

/* ---- stop and rate ---- */

static void print_change(struct cli *c, const struct options *o, const struct json_t *s)
{
    size_t hosts = field_count(field(s, "hosts"));
    char id[FIELD_ID_MAX], samples[FORMAT_MAX];

    (void)o;
    fprintf(c->out, "session %s: %s, %g Hz, %zu host%s, %s samples\n", field_id(s, "id", id),
            field_text(s, "state"), field_number(s, "hz"), hosts, hosts == 1 ? "" : "s",
            format_count(field_number(s, "samples"), samples));
}

/* Posts to a session and says in one line what it is now. */
static enum outcome change_session(struct cli *c, const struct options *o, const char *verb,
                                   const char *body)
{
    struct path p;
    struct reply r = {0};
    enum outcome outcome = session_path(c, o->argument[0], verb, &p);

    if (outcome == OUTCOME_DONE)
        outcome = ask_post(c, &p, body, &r);
    if (outcome == OUTCOME_DONE)
        outcome = print_reply(c, o, &r, print_change);
    reply_deinit(&r);
    return outcome;
}

enum outcome command_stop(struct cli *c, const struct options *o)
{
    const char *owner = options_text(o, OPTION_OWNER, NULL);
    json_t *body = owner != NULL ? json_pack("{s:s}", "owner", owner) : json_object();
    char *text = json_dumps(body, JSON_COMPACT);
    enum outcome outcome = change_session(c, o, "stop", text);

    free(text);
    json_decref(body);
    return outcome;
}

enum outcome command_rate(struct cli *c, const struct options *o)
{
    char body[FORMAT_MAX];

    if (!options_has(o, OPTION_HZ))
        return cli_fail(c, OUTCOME_USAGE, "--hz is missing; give a whole number from 1 to 10000");
    snprintf(body, sizeof(body), "{\"hz\":%" PRIu64 "}", options_number(o, OPTION_HZ, 0));
    return change_session(c, o, "rate", body);
}

/* ---- watch ---- */

static void say_it_goes_on(struct cli *c, const char *id)
{
    fprintf(c->err,
            "session %s goes on; 'fleetprof watch %s' follows it, 'fleetprof stop %s' ends it\n",
            id, id, id);
}

enum outcome command_watch(struct cli *c, const struct options *o)
{
    char id[SESSION_ID_MAX];
    struct follow f = {.session = id, .json_lines = options_has(o, OPTION_JSON)};
    enum outcome outcome = resolve_session(c, o->argument[0], id);

    if (outcome != OUTCOME_DONE)
        return outcome;
    switch (follow_session(c, &f)) {
    case FOLLOW_ENDED:
        if (!f.json_lines)
            print_session(c, o, f.last);
        outcome = judge(c, f.last);
        break;
    case FOLLOW_LEFT: /* the way out of a watch */
    case FOLLOW_LATE:
        say_it_goes_on(c, id);
        break;
    case FOLLOW_FAILED:
        outcome = f.outcome;
        break;
    }
    answer_free(f.last);
    return outcome;
}

/* ---- start ---- */

static uint64_t duration_of(const struct options *o)
{
    uint64_t ns = 0;

    (void)duration_parse(options_text(o, OPTION_FOR, DURATION_DEFAULT), &ns); /* was checked */
    return ns;
}

/* The body of POST /sessions; NULL: out of memory. */
static char *start_body(const struct options *o)
{
    const char *event_text = options_text(o, OPTION_EVENT, "cpu");
    enum event event = EVENT_CPU;
    uint64_t ns = duration_of(o);

    (void)event_parse(event_text, &event); /* was checked */
    json_t *body = json_pack(
        "{s:s, s:s, s:I, s:o, s:s, s:s}", "selector", o->argument[0], "event", event_text, "hz",
        (json_int_t)options_number(o, OPTION_HZ, event_default_hz(event)), "duration_s",
        ns % NS_PER_S == 0 ? json_integer((json_int_t)(ns / NS_PER_S))
                           : json_real((double)ns / NS_PER_S),
        "owner", options_text(o, OPTION_OWNER, user_name()), "note",
        options_text(o, OPTION_NOTE, ""));
    char *text = json_dumps(body, JSON_COMPACT);

    json_decref(body);
    return text;
}

/* `top` of the session alone. */
static enum outcome rank_session(struct cli *c, const struct options *o, const char *id)
{
    struct path p;

    path_begin(&p, "/top");
    path_add(&p, "session", id);
    path_add(&p, "by", options_text(o, OPTION_BY, "function"));
    path_add(&p, "limit", options_text(o, OPTION_LIMIT, LIMIT_DEFAULT_TEXT));
    return ask_and_print(c, o, &p, print_ranking);
}

/* Follows the new session to its end and prints its ranking, also when some hosts are late. */
static enum outcome wait_for(struct cli *c, const struct options *o, const char *id)
{
    struct follow f = {.session = id,
                       .deadline =
                           mono_after(clock_mono(), duration_of(o) + WAIT_GRACE_S * NS_PER_S)};
    enum follow_end end = follow_session(c, &f);
    enum outcome outcome = f.outcome, judged;

    if (end == FOLLOW_LEFT) {
        say_it_goes_on(c, id);
        outcome = OUTCOME_PARTIAL;
    } else if (end != FOLLOW_FAILED) {
        if (end == FOLLOW_LATE)
            cli_fail(c, OUTCOME_PARTIAL, "session %s is not complete %d s after its end", id,
                     WAIT_GRACE_S);
        if (!options_has(o, OPTION_JSON))
            fprintf(c->out, "session %s\n", id);
        follow_names(c);
        outcome = rank_session(c, o, id);
        judged = judge(c, f.last);
        if (outcome == OUTCOME_DONE)
            outcome = end == FOLLOW_LATE ? OUTCOME_PARTIAL : judged;
    }
    answer_free(f.last);
    return outcome;
}

/* The id alone on `out`, for scripts; the rest for a person who looks on. */
static void say_started(struct cli *c, const struct json_t *s, const char *id)
{
    char ends[FORMAT_MAX];
    size_t hosts = field_count(field(s, "hosts"));

    fprintf(c->out, "%s\n", id);
    if (!c->progress.terminal)
        return;
    fprintf(c->err, "%zu host%s match%s, until %s UTC; 'fleetprof watch %s' follows it\n", hosts,
            hosts == 1 ? "" : "s", hosts == 1 ? "es" : "",
            format_moment(field_text(s, "ends"), ends), id);
}

enum outcome command_start(struct cli *c, const struct options *o)
{
    struct path p;
    struct reply r = {0};
    json_t *s = NULL;
    char id[FIELD_ID_MAX], *body = start_body(o);
    enum outcome outcome = OUTCOME_FAILED;

    path_begin(&p, "/sessions");
    if (body == NULL) {
        cli_fail(c, outcome, "the session cannot be described in JSON: is its text UTF-8?");
        goto out;
    }
    outcome = ask_post(c, &p, body, &r);
    if (outcome == OUTCOME_DONE)
        outcome = parse_reply(c, &r, &s);
    if (outcome != OUTCOME_DONE)
        goto out;
    field_id(s, "id", id);
    if (options_has(o, OPTION_WAIT))
        outcome = wait_for(c, o, id);
    else if (options_has(o, OPTION_JSON))
        print_as_is(c, &r);
    else
        say_started(c, s, id);
out:
    json_decref(s);
    reply_deinit(&r);
    free(body);
    return outcome;
}
