#include "coordinator/cli/follow.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include "common/when.h"
#include "coordinator/cli/field.h"
#include "coordinator/cli/format.h"
#include "coordinator/cli/grid.h"
#include "coordinator/cli/question.h"

enum {
    RETRY_AFTER_MS = 500,
    GIVE_UP_S = 60, /* of a coordinator that is away: a restart takes seconds */
    NAMES_WAIT_S = 20, /* the largest symbol tables take about 5 s to read and send */
    NAMES_LOOK_MS = 100,
    LINE_MAX_BYTES = 512,
};

struct following {
    struct cli *cli;
    struct follow *follow;
    struct mono heard; /* when the coordinator last spoke */
    uint64_t drawn_second; /* the seconds left that the line shows */
    bool drawn; /* a line stands on the terminal */
};

static volatile sig_atomic_t interrupted; /* set by the handler alone, below */

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static bool has_ended(const struct json_t *session)
{
    const char *state = field_text(session, "state");

    return strcmp(state, "completed") == 0 || strcmp(state, "stopped") == 0;
}

/* ---- the line ---- */

static uint64_t seconds_left(const struct json_t *session)
{
    struct wall now = clock_wall(), ends;

    if (when_parse(field_text(session, "ends"), now, &ends) != ST_OK || ends.ns <= now.ns)
        return 0;
    return (ends.ns - now.ns + NS_PER_S - 1) / NS_PER_S;
}

/* "2 first sample, 1 refused" */
static void write_states(const struct json_t *states, char *out, size_t room)
{
    const char *key;
    json_t *count;
    size_t at = 0;

    out[0] = '\0';
    json_object_foreach((json_t *)states, key, count) /* jansson's iteration takes no const */
    {
        if (json_number_value(count) == 0 || at + strlen(key) + 32 > room)
            continue;
        at += (size_t)snprintf(out + at, room - at, "%s%.0f %s", at > 0 ? ", " : "",
                               json_number_value(count), key);
    }
    for (char *c = out; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
}

static void draw(struct following *f, const struct json_t *session)
{
    const struct cli *c = f->cli;
    char states[LINE_MAX_BYTES / 2], line[LINE_MAX_BYTES], samples[FORMAT_MAX], left[WHEN_TEXT_MAX];
    uint64_t seconds = seconds_left(session);

    if (!c->progress.terminal)
        return;
    write_states(field(session, "states"), states, sizeof(states));
    snprintf(line, sizeof(line), "session %s  %s  %s  %s samples  %s%s", f->follow->session,
             field_text(session, "state"), states[0] != '\0' ? states : "no host matches yet",
             format_count(field_number(session, "samples"), samples),
             seconds > 0 ? duration_format(seconds * NS_PER_S, left) : "",
             seconds > 0 ? " left" : "");
    fputs("\r\033[K", c->err); /* back to the start, clear to the end */
    text_print(c->err, line, c->progress.columns - 1);
    fflush(c->err);
    f->drawn = true;
    f->drawn_second = seconds;
}

static void wipe(struct following *f)
{
    if (f->drawn)
        fputs("\r\033[K", f->cli->err);
    f->drawn = false;
}

/* ---- the stream ---- */

static bool is_over(const struct following *f)
{
    const struct follow *w = f->follow;

    return interrupted || (w->deadline.ns > 0 && mono_reached(clock_mono(), w->deadline));
}

/* client_stream's callback: a session object, or NULL as a tick. */
static bool on_event(void *arg, const char *data)
{
    struct following *f = arg;
    struct follow *w = f->follow;

    if (data == NULL) {
        if (w->last != NULL && seconds_left(w->last) != f->drawn_second)
            draw(f, w->last);
        return !is_over(f);
    }
    json_t *session = json_loads(data, 0, NULL);
    if (session == NULL)
        return true; /* not an event of ours */
    json_decref(w->last);
    w->last = session;
    f->heard = clock_mono();
    if (w->json_lines) {
        fprintf(f->cli->out, "%s\n", data);
        fflush(f->cli->out);
    }
    draw(f, session);
    return !has_ended(session) && !is_over(f);
}

static enum follow_end fail(struct following *f, enum outcome outcome)
{
    f->follow->outcome = outcome;
    return FOLLOW_FAILED;
}

/* Why the stream is over, or false when it broke and may be tried again. */
static bool settle(struct following *f, enum status st, const struct reply *r, enum follow_end *out)
{
    struct follow *w = f->follow;

    if (w->last != NULL && has_ended(w->last)) {
        *out = FOLLOW_ENDED;
    } else if (interrupted) {
        *out = FOLLOW_LEFT;
    } else if (is_over(f)) {
        *out = FOLLOW_LATE;
    } else if (st == ST_OK && r->code >= 400 && r->code < 500) { /* HTTP: it will not get better */
        wipe(f);
        *out = fail(f, outcome_of_reply(f->cli, r));
    } else if (mono_since(clock_mono(), f->heard) > GIVE_UP_S * NS_PER_S) {
        wipe(f);
        *out = fail(f, cli_fail(f->cli, OUTCOME_FAILED, "%s",
                                st == ST_OK ? "the coordinator keeps ending the stream"
                                            : client_why(f->cli->client)));
    } else {
        return false;
    }
    return true;
}

static enum follow_end follow_stream(struct following *f)
{
    struct path p;
    enum follow_end end = FOLLOW_FAILED;

    path_begin(&p, "/sessions");
    path_segment(&p, f->follow->session);
    snprintf(p.text + p.length, sizeof(p.text) - p.length, "/events");
    for (bool settled = false; !settled;) {
        struct reply r = {0};
        enum status st = client_stream(f->cli->client, p.text, on_event, f, &r);

        settled = settle(f, st, &r, &end);
        reply_deinit(&r);
        if (!settled)
            (void)poll(NULL, 0, RETRY_AFTER_MS); /* a signal cuts it short: settle() looks */
    }
    wipe(f);
    return end;
}

static void heed_interrupts(struct sigaction *before)
{
    struct sigaction handler = {.sa_handler = on_interrupt};

    interrupted = 0;
    sigaction(SIGINT, &handler, before);
}

enum follow_end follow_session(struct cli *c, struct follow *f)
{
    struct following following = {.cli = c, .follow = f, .heard = clock_mono()};
    struct sigaction before;

    heed_interrupts(&before);
    enum follow_end end = follow_stream(&following);
    sigaction(SIGINT, &before, NULL);
    return end;
}

/* ---- names ---- */

/* A coordinator that does not say so has none pending. */
static double pending_symbols(struct cli *c)
{
    double pending = 0;
    struct reply r = {0};
    json_t *status = NULL;

    if (client_get(c->client, "/status", &r) == ST_OK && r.code == 200)
        status = json_loads(r.body, 0, NULL);
    if (status != NULL)
        pending = field_number(field(status, "link"), "symbols_pending");
    json_decref(status);
    reply_deinit(&r);
    return pending;
}

void follow_names(struct cli *c)
{
    struct mono deadline = mono_after(clock_mono(), NAMES_WAIT_S * NS_PER_S);
    struct sigaction before;

    heed_interrupts(&before);
    while (!interrupted && !mono_reached(clock_mono(), deadline) && pending_symbols(c) > 0)
        (void)poll(NULL, 0, NAMES_LOOK_MS); /* a signal cuts it short */
    sigaction(SIGINT, &before, NULL);
}
