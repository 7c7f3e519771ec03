#include "coordinator/http/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/when.h"
#include "coordinator/store/records.h"

#define WHEN_FORMS "now, -1h, an ISO 8601 time or epoch seconds"

#define X(number, NAME, text, unit) " " text
static const char event_names[] = EVENT_LIST(X);
#undef X
#define X(NAME, text) " " text
static const char by_names[] = RANK_BY_LIST(X);
#undef X

enum {
    SHOWN = 200, /* bytes of a faulty value that an error repeats */
    FROM_MAX = 80, /* bytes of the first half of from..to: twice the longest time that we write */
};

bool params_selector(struct call *c, const char *name, struct selector **out)
{
    const char *text = http_query(c->request, name);
    char why[SELECTOR_WHY_MAX];

    if (text == NULL) {
        *out = NULL;
        return true;
    }
    if (selector_parse(text, out, why) == ST_OK)
        return true;
    call_fail(c, ST_INVALID, "%s '%.*s': %s", name, SHOWN, text, why);
    return false;
}

static bool parse_event(struct call *c, enum event *out)
{
    const char *text = http_query(c->request, "event");

    if (text == NULL) {
        *out = EVENT_NONE;
        return true;
    }
    if (event_parse(text, out))
        return true;
    call_fail(c, ST_INVALID, "event '%.*s': one of these would be accepted:%s", SHOWN, text,
              event_names);
    return false;
}

static bool parse_time(struct call *c, const char *name, const char *text, struct wall *out)
{
    if (when_parse(text, c->now, out) == ST_OK)
        return true;
    call_fail(c, ST_INVALID, "%s '%.*s' is not a time: " WHEN_FORMS " would be", name, SHOWN, text);
    return false;
}

static bool parse_span(struct call *c, const char *name, const char *from, const char *to,
                       struct question_side *side)
{
    struct window *w = &side->window;

    if (!parse_time(c, name, from, &w->from) ||
        !parse_time(c, strcmp(name, "from") == 0 ? "to" : name, to, &w->to))
        return false;
    (void)snprintf(side->text, sizeof(side->text), "%.100s to %.100s", from, to);
    if (w->from.ns < w->to.ns)
        return true;
    call_fail(c, ST_INVALID, "%s: '%.100s' does not lie before '%.100s'", name, from, to);
    return false;
}

static bool parse_session(struct call *c, const char *name, const char *text,
                          struct question_side *side)
{
    side->window.by_session = true;
    (void)snprintf(side->text, sizeof(side->text), "session %.100s", text);
    if (session_id_parse(text, &side->window.session) == ST_OK)
        return true;
    call_fail(c, ST_INVALID, "%s '%.*s' is not a session's id, which is 16 hexadecimal digits%s",
              name, SHOWN, text,
              strcmp(name, "session") == 0 ? "" : ", nor a span of time, which is from..to");
    return false;
}

/* Narrows the side by a selector. */
static bool parse_select(struct call *c, const char *name, struct question_side *side)
{
    const char *text = http_query(c->request, name);
    size_t length = strlen(side->text);

    if (!params_selector(c, name, &side->select))
        return false;
    side->window.select = side->select;
    if (text != NULL)
        (void)snprintf(side->text + length, sizeof(side->text) - length, ", %.40s", text);
    return true;
}

bool params_window(struct call *c, struct question *q)
{
    const char *session = http_query(c->request, "session");
    const char *from = http_query(c->request, "from"), *to = http_query(c->request, "to");
    struct question_side *side = &q->sides[0];
    bool fine;

    q->side_count = 1;
    if (session != NULL && (from != NULL || to != NULL)) {
        call_fail(c, ST_INVALID,
                  "session comes without from and to: a session knows its own times");
        return false;
    }
    if (session != NULL)
        fine = parse_session(c, "session", session, side);
    else
        fine = parse_span(c, "from", from == NULL ? "-1h" : from, to == NULL ? "now" : to, side);
    return fine && parse_select(c, "select", side) && parse_event(c, &side->window.event);
}

static bool parse_side(struct call *c, const char *name, const char *select,
                       struct question_side *side)
{
    const char *text = http_query(c->request, name), *dots;
    char from[FROM_MAX];
    bool fine;

    if (text == NULL) {
        call_fail(c, ST_INVALID, "%s is missing: a session's id, or a span of time from..to", name);
        return false;
    }
    dots = strstr(text, "..");
    if (dots == NULL) {
        fine = parse_session(c, name, text, side);
    } else {
        (void)snprintf(from, sizeof(from), "%.*s", dots - text < FROM_MAX ? (int)(dots - text) : 0,
                       text);
        fine = parse_span(c, name, from, dots + 2, side);
    }
    return fine && parse_select(c, select, side);
}

bool params_sides(struct call *c, struct question *q)
{
    q->side_count = 2;
    if (!parse_side(c, "a", "select_a", &q->sides[0]) ||
        !parse_side(c, "b", "select_b", &q->sides[1]) || !parse_event(c, &q->sides[0].window.event))
        return false;
    q->sides[1].window.event = q->sides[0].window.event;
    return true;
}

bool params_limit(struct call *c, uint32_t *out)
{
    const char *text = http_query(c->request, "limit");
    unsigned long value;

    if (text == NULL)
        return true;
    value = strtoul(text, NULL, 10);
    if (*text != '\0' && strspn(text, "0123456789") == strlen(text) &&
        value <= QUESTION_LIMIT_MAX) {
        *out = (uint32_t)value;
        return true;
    }
    call_fail(c, ST_INVALID,
              "limit '%.*s': a number of rows up to %d, or 0 for all, would be accepted", SHOWN,
              text, QUESTION_LIMIT_MAX);
    return false;
}

bool params_rank(struct call *c, struct question *q)
{
    const char *by = http_query(c->request, "by");

    if (by != NULL && rank_by_parse(by, q->by, &q->by_count) != ST_OK) {
        call_fail(c, ST_INVALID,
                  "by '%.*s': up to %d of these, with commas between, would be accepted:%s", SHOWN,
                  by, RANK_DIMENSIONS_MAX, by_names);
        return false;
    }
    return params_limit(c, &q->limit);
}
