#include "coordinator/cli/side.h"

#include <string.h>

#include "common/when.h"

enum { SIDE_MAX = 128 };

static bool is_time(struct cli *c, const char *text)
{
    struct wall t;

    return when_parse(text, c->now, &t) == ST_OK;
}

/* "from..to": checked here, sent as it is. */
static enum outcome check_span(struct cli *c, const char *side, const char *dots)
{
    char from[SIDE_MAX];

    if (dots - side < SIDE_MAX) {
        memcpy(from, side, (size_t)(dots - side));
        from[dots - side] = '\0';
        if (is_time(c, from) && is_time(c, dots + 2))
            return OUTCOME_DONE;
    }
    return cli_fail(c, OUTCOME_USAGE,
                    "'%s' is not a span of time; give from..to, such as -2h..-1h or "
                    "2026-11-30T21:00..2026-11-30T22:00",
                    side);
}

static enum outcome add_side(struct cli *c, const char *key, const char *side, struct path *p)
{
    char id[SESSION_ID_MAX];
    const char *dots = strstr(side, "..");
    enum outcome outcome;

    if (dots != NULL) {
        outcome = check_span(c, side, dots);
        if (outcome == OUTCOME_DONE)
            path_add(p, key, side);
        return outcome;
    }
    outcome = resolve_session(c, side, id);
    if (outcome == OUTCOME_DONE)
        path_add(p, key, id);
    return outcome;
}

enum outcome add_sides(struct cli *c, const struct options *o, struct path *p)
{
    enum outcome outcome = add_side(c, "a", o->argument[0], p);

    if (outcome == OUTCOME_DONE)
        outcome = add_side(c, "b", o->argument[1], p);
    path_add(p, "select_a", options_text(o, OPTION_SELECT_A, NULL));
    path_add(p, "select_b", options_text(o, OPTION_SELECT_B, NULL));
    path_add(p, "event", options_text(o, OPTION_EVENT, NULL));
    return outcome;
}
