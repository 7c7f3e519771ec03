/* session_commands - start, stop and rate: the routes that change something. A command is answered
 * when its effect is durable, with the session as it is then. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/http/call.h"
#include "coordinator/http/guard.h"
#include "coordinator/http/peer.h"
#include "coordinator/http/view_sessions.h"

#define DURATION_DEFAULT_NS (30 * NS_PER_S)

/* ---- bodies ---- */

/* The body as an object. NULL: the call is answered. An empty body is an empty object. */
static json_t *read_body(struct call *c)
{
    struct slice body = http_body(c->request);
    json_error_t error;
    json_t *object;

    if (body.length == 0)
        return json_object();
    object = json_loadb((const char *)body.bytes, body.length, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL)
        call_fail(c, ST_INVALID, "the body is not JSON: %s (line %d, column %d)", error.text,
                  error.line, error.column);
    else if (!json_is_object(object)) {
        call_fail(c, ST_INVALID, "the body must be a JSON object");
        json_decref(object);
        object = NULL;
    }
    return object;
}

/* `names`: those that the command takes, the last one NULL. */
static bool fields_are_known(struct call *c, json_t *body, const char *const *names)
{
    char accepted[128] = "";
    const char *key;
    json_t *value;

    for (const char *const *n = names; *n != NULL; n++)
        (void)snprintf(accepted + strlen(accepted), sizeof(accepted) - strlen(accepted), " %s", *n);
    json_object_foreach(body, key, value)
    {
        const char *const *n = names;

        while (*n != NULL && strcmp(*n, key) != 0)
            n++;
        if (*n == NULL) {
            call_fail(c, ST_INVALID, "there is no field '%.64s' here; accepted are:%s", key,
                      accepted);
            return false;
        }
    }
    return true;
}

/* Absent and null leave `out` as it is. The text lives as long as `body`. */
static bool text_field(struct call *c, json_t *body, const char *name, size_t bytes_max,
                       const char **out)
{
    const json_t *value = json_object_get(body, name);

    if (value == NULL || json_is_null(value))
        return true;
    if (!json_is_string(value)) {
        call_fail(c, ST_INVALID, "%s must be a string", name);
        return false;
    }
    if (json_string_length(value) > bytes_max) {
        call_fail(c, ST_INVALID, "%s has %zu bytes; up to %zu are accepted", name,
                  json_string_length(value), bytes_max);
        return false;
    }
    if (!guard_text_is_clean(json_string_value(value))) {
        call_fail(c, ST_INVALID, "%s must not hold control characters", name); /* for terminals */
        return false;
    }
    *out = json_string_value(value);
    return true;
}

static bool hz_field(struct call *c, json_t *body, uint32_t *out)
{
    const json_t *value = json_object_get(body, "hz");
    json_int_t hz;

    if (value == NULL && *out != 0)
        return true; /* it has a default */
    hz = json_integer_value(value); /* 0 when it is none */
    if (hz >= HZ_MIN && hz <= HZ_MAX) {
        *out = (uint32_t)hz;
        return true;
    }
    call_fail(c, ST_INVALID, "hz must be a whole number from %d to %d", HZ_MIN, HZ_MAX);
    return false;
}

static bool duration_field(struct call *c, json_t *body, uint64_t *out_ns)
{
    const json_t *value = json_object_get(body, "duration_s");
    double longest_s = (double)CONTROL_SESSION_NS_MAX / (double)NS_PER_S, seconds;

    if (value == NULL) {
        *out_ns = DURATION_DEFAULT_NS;
        return true;
    }
    seconds = json_number_value(value); /* 0 when it is none */
    if (seconds >= 1 && seconds <= longest_s) {
        *out_ns = (uint64_t)(seconds * (double)NS_PER_S);
        return true;
    }
    call_fail(c, ST_INVALID, "duration_s must be a number of seconds from 1 to %.0f", longest_s);
    return false;
}

#define X(number, NAME, text, unit) " " text
static const char event_names[] = EVENT_LIST(X);
#undef X

static bool event_field(struct call *c, json_t *body, enum event *out)
{
    const char *text = "cpu";

    if (!text_field(c, body, "event", CALL_MESSAGE_MAX, &text))
        return false;
    if (event_parse(text, out))
        return true;
    call_fail(c, ST_INVALID, "event '%.64s': one of these would be accepted:%s", text, event_names);
    return false;
}

/* ---- commands ---- */

struct command {
    struct call call;
    unsigned code; /* of success */
};

static void on_done(void *arg, enum status st, uint64_t session)
{
    struct command *d = arg;
    struct api *a = d->call.api;
    struct session_view view;

    if (st == ST_OK)
        st = control_session(a->options.control, session, &view);
    if (st == ST_OK)
        call_answer(&d->call, d->code, view_session(&view));
    else
        call_fail(&d->call, st, "the command was not carried out: %s", status_text(st));
    free(d);
    a->commands--;
    api_check_idle(a);
}

/* NULL: the call is answered. */
static struct command *command_new(struct call *c, unsigned code)
{
    struct command *d = calloc(1, sizeof(*d));

    if (d == NULL) {
        call_fail(c, ST_NOMEM, "%s", status_text(ST_NOMEM));
        return NULL;
    }
    *d = (struct command){*c, code};
    c->api->commands++;
    return d;
}

/* What control said at once: on ST_OK on_done follows, else this is the answer. */
static void command_begun(struct command *d, enum status st, const char *why)
{
    struct api *a = d->call.api;

    if (st == ST_OK)
        return;
    call_fail(&d->call, st, "%s", why[0] == '\0' ? status_text(st) : why);
    free(d);
    a->commands--;
}

static void start(struct call *c, json_t *body)
{
    static const char *const names[] = {"selector", "event", "hz", "duration_s",
                                        "owner",    "note",  NULL};
    char user[PEER_NAME_MAX], why[CONTROL_WHY_MAX] = "";
    struct session_request request = {.selector = "", .owner = "", .note = ""};
    struct command *d;

    if (!fields_are_known(c, body, names) ||
        !text_field(c, body, "selector", SELECTOR_TEXT_MAX, &request.selector) ||
        !event_field(c, body, &request.event))
        return;
    request.hz = event_default_hz(request.event);
    if (!hz_field(c, body, &request.hz) || !duration_field(c, body, &request.duration_ns) ||
        !text_field(c, body, "owner", SESSION_OWNER_MAX, &request.owner) ||
        !text_field(c, body, "note", SESSION_NOTE_MAX, &request.note))
        return;
    if (request.owner[0] == '\0')
        request.owner = peer_name(c, user);
    d = command_new(c, 201);
    if (d != NULL)
        command_begun(d, control_start(c->api->options.control, &request, c->now, on_done, d, why),
                      why);
}

static void stop(struct call *c, json_t *body)
{
    static const char *const names[] = {"owner", NULL};
    char why[CONTROL_WHY_MAX] = "";
    const char *owner = NULL; /* not asked for */
    struct command *d;

    if (!fields_are_known(c, body, names) ||
        !text_field(c, body, "owner", SESSION_OWNER_MAX, &owner))
        return;
    d = command_new(c, 200);
    if (d != NULL)
        command_begun(
            d, control_stop(c->api->options.control, c->session, owner, c->now, on_done, d, why),
            why);
}

static void change_rate(struct call *c, json_t *body)
{
    static const char *const names[] = {"hz", NULL};
    char why[CONTROL_WHY_MAX] = "";
    struct command *d;
    uint32_t hz = 0;

    if (!fields_are_known(c, body, names) || !hz_field(c, body, &hz))
        return;
    d = command_new(c, 200);
    if (d != NULL)
        command_begun(
            d, control_rate(c->api->options.control, c->session, hz, c->now, on_done, d, why), why);
}

static void with_body(struct call *c, void (*command)(struct call *c, json_t *body))
{
    json_t *body = read_body(c);

    if (body == NULL)
        return;
    command(c, body);
    json_decref(body);
}

void route_session_start(struct call *c)
{
    with_body(c, start);
}

void route_session_stop(struct call *c)
{
    with_body(c, stop);
}

void route_session_rate(struct call *c)
{
    with_body(c, change_rate);
}
