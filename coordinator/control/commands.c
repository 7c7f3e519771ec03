/* commands - what operators ask of the control plane. See control.h.
 * A start takes part in planning once it is durable. A stop and a change of rate hold at once, for
 * waiting would only prolong what is not wanted; the answer comes when they are durable, and says
 * so if they could not be made so yet. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/when.h"
#include "coordinator/control/control_state.h"

static enum status check_rate(uint32_t hz, char why[CONTROL_WHY_MAX])
{
    if (hz >= HZ_MIN && hz <= HZ_MAX)
        return ST_OK;
    snprintf(why, CONTROL_WHY_MAX, "rate %u Hz: accepted are %d to %d", hz, HZ_MIN, HZ_MAX);
    return ST_INVALID;
}

static enum status check_text(const char *name, const char *text, size_t max,
                              char why[CONTROL_WHY_MAX])
{
    if (text == NULL || strlen(text) <= max)
        return ST_OK;
    snprintf(why, CONTROL_WHY_MAX, "%s of %zu bytes: at most %zu are kept", name, strlen(text),
             max);
    return ST_INVALID;
}

static enum status check_request(const struct session_request *r, char why[CONTROL_WHY_MAX])
{
    char text[WHEN_TEXT_MAX];
    enum event event;

    if (!event_from_number(r->event, &event)) {
        snprintf(why, CONTROL_WHY_MAX, "event %d: not known here", (int)r->event);
        return ST_INVALID;
    }
    if (check_rate(r->hz, why) != ST_OK)
        return ST_INVALID;
    if (r->duration_ns < NS_PER_S || r->duration_ns > CONTROL_SESSION_NS_MAX) {
        snprintf(why, CONTROL_WHY_MAX, "duration %s: accepted are 1s to 7d",
                 duration_format(r->duration_ns, text));
        return ST_INVALID;
    }
    if (check_text("owner", r->owner, SESSION_OWNER_MAX, why) != ST_OK)
        return ST_INVALID;
    return check_text("note", r->note, SESSION_NOTE_MAX, why);
}

static enum status record_of(const struct session_request *r, struct wall now,
                             struct session_record *out)
{
    *out = (struct session_record){
        .selector = strdup(r->selector != NULL ? r->selector : ""),
        .event = r->event,
        .hz = r->hz,
        .created = now,
        .ends = {now.ns + r->duration_ns},
        .state = SESSION_RUNNING,
    };
    if (out->selector == NULL)
        return ST_NOMEM;
    while (out->id == 0)
        out->id = random_u64();
    snprintf(out->owner, sizeof(out->owner), "%s", r->owner != NULL ? r->owner : "");
    snprintf(out->note, sizeof(out->note), "%s", r->note != NULL ? r->note : "");
    return ST_OK;
}

enum status control_start(struct control *c, const struct session_request *r, struct wall now,
                          control_done *done, void *arg, char why[CONTROL_WHY_MAX])
{
    struct session_record record = {0};
    char selector_why[SELECTOR_WHY_MAX] = "";
    struct session *s;
    enum status st = check_request(r, why);

    c->wall = now;
    if (st != ST_OK)
        return st;
    if (sessions_live(c->sessions) >= CONTROL_SESSIONS_MAX) {
        snprintf(why, CONTROL_WHY_MAX, "%d sessions are live: stop one first",
                 CONTROL_SESSIONS_MAX);
        return ST_FULL;
    }
    st = record_of(r, now, &record);
    if (st == ST_OK)
        st = sessions_add_take(c->sessions, &record, &s, selector_why);
    if (st == ST_OK) {
        s->counted = true; /* from nothing */
        st = keeping_wait(c, s->record.id, true, done, arg);
        if (st != ST_OK)
            sessions_drop(c->sessions, s);
    }
    if (st != ST_OK) {
        snprintf(why, CONTROL_WHY_MAX, "%s",
                 selector_why[0] != '\0' ? selector_why : status_text(st));
        session_record_deinit(&record);
        return st;
    }
    c->counters.starts++;
    keep_session(c, s);
    steer(c);
    return ST_OK;
}

static enum status find_running(const struct control *c, uint64_t id, struct session **out,
                                char why[CONTROL_WHY_MAX])
{
    struct session *s = sessions_find(c->sessions, id);
    char text[SESSION_ID_TEXT_MAX];

    session_id_format(id, text);
    if (s == NULL) {
        snprintf(why, CONTROL_WHY_MAX, "session %s: there is none", text);
        return ST_NOT_FOUND;
    }
    if (s->record.state != SESSION_RUNNING) {
        snprintf(why, CONTROL_WHY_MAX, "session %s is %s already", text,
                 session_state_name(s->record.state));
        return ST_BAD_STATE;
    }
    *out = s;
    return ST_OK;
}

enum status control_stop(struct control *c, uint64_t session, const char *owner, struct wall now,
                         control_done *done, void *arg, char why[CONTROL_WHY_MAX])
{
    struct session *s;
    enum status st = find_running(c, session, &s, why);

    c->wall = now;
    if (st != ST_OK)
        return st;
    if (owner != NULL && strcmp(owner, s->record.owner) != 0) {
        snprintf(why, CONTROL_WHY_MAX, "the session belongs to \"%.100s\", not to \"%.100s\"",
                 s->record.owner, owner);
        return ST_DENIED;
    }
    st = keeping_wait(c, session, false, done, arg);
    if (st != ST_OK)
        return st;
    c->counters.stops++;
    s->record.stopped = true;
    if (now.ns < s->record.ends.ns)
        s->record.ends = now;
    steer_session_over(c, s);
    steer(c);
    return ST_OK;
}

enum status control_rate(struct control *c, uint64_t session, uint32_t hz, struct wall now,
                         control_done *done, void *arg, char why[CONTROL_WHY_MAX])
{
    struct session *s;
    enum status st = check_rate(hz, why);

    c->wall = now;
    if (st == ST_OK)
        st = find_running(c, session, &s, why);
    if (st == ST_OK)
        st = keeping_wait(c, session, false, done, arg);
    if (st != ST_OK)
        return st;
    c->counters.rate_changes++;
    s->record.hz = hz;
    keep_session(c, s);
    steer_touch_hosts(c, s);
    c->options.changed(c->options.arg, session);
    steer(c);
    return ST_OK;
}
