#include "coordinator/http/api.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/http/call.h"
#include "coordinator/http/question.h"
#include "coordinator/http/session_events.h"
#include "coordinator/store/records.h"

static const char media_json[] = "application/json";

struct route {
    const char *method, *path, *parameters; /* parameters: names with blanks between */
    void (*handle)(struct call *c);
};

static const struct route routes[] = {
#define X(method, path, handler, parameters) {#method, path, parameters, route_##handler},
#include "coordinator/http/routes.def"
#undef X
};

/* ---- answers ---- */

struct error_form {
    unsigned code; /* of HTTP */
    const char *name;
};

static struct error_form error_form(enum status st)
{
    switch (st) {
    case ST_INVALID:
    case ST_UNSUPPORTED:
        return (struct error_form){400, "invalid"};
    case ST_DENIED:
        return (struct error_form){403, "denied"};
    case ST_NOT_FOUND:
        return (struct error_form){404, "not_found"};
    case ST_EXISTS:
    case ST_BAD_STATE:
        return (struct error_form){409, "bad_state"};
    case ST_TOO_BIG:
        return (struct error_form){413, "too_big"};
    case ST_FULL:
        return (struct error_form){429, "limit"};
    case ST_TIMEOUT:
    case ST_CLOSED:
    case ST_NO_SPACE:
        return (struct error_form){503, "unavailable"};
    case ST_OK:
    case ST_NOMEM:
    case ST_IO:
        break;
    }
    return (struct error_form){500, "failed"};
}

void call_answer(struct call *c, unsigned code, json_t *value)
{
    static const char no_memory[] =
        "{\"error\":{\"code\":\"failed\",\"message\":\"out of memory\"}}\n";
    char *text;
    size_t length;

    if (json_finish(value, &text, &length) == ST_OK)
        http_answer_take(c->request, code, media_json, (uint8_t *)text, length, NULL);
    else
        http_answer(c->request, 500, media_json,
                    (struct slice){(const uint8_t *)no_memory, sizeof(no_memory) - 1});
}

void call_answer_text(struct call *c, const char *media_type, struct slice text)
{
    http_answer(c->request, 200, media_type, text);
}

static json_t *error_object(const char *code, const char *message)
{
    return json_pack("{s:{s:s, s:o}}", "error", "code", code, "message", json_text(message));
}

void call_fail(struct call *c, enum status st, const char *format, ...)
{
    char message[CALL_MESSAGE_MAX];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    call_answer(c, error_form(st).code, error_object(error_form(st).name, message));
}

static void fail_method(struct call *c, const char *allow)
{
    char message[128], *text;
    size_t length;

    (void)snprintf(message, sizeof(message), "%s is not possible here; %s would be",
                   http_method(c->request), allow);
    if (json_finish(error_object("not_allowed", message), &text, &length) != ST_OK) {
        call_fail(c, ST_NOMEM, "%s", status_text(ST_NOMEM));
        return;
    }
    http_answer_not_allowed(c->request, allow, media_json,
                            (struct slice){(const uint8_t *)text, length});
    free(text);
}

/* ---- routing ---- */

/* Compares segment by segment; {id} takes any one segment, which `id` is set to. */
static bool path_matches(const char *pattern, const char *path, const char **id, size_t *id_length)
{
    while (*pattern != '\0' && *path != '\0') {
        if (strncmp(pattern, "{id}", 4) == 0) {
            *id = path;
            *id_length = strcspn(path, "/");
            if (*id_length == 0)
                return false;
            path += *id_length;
            pattern += 4;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == '\0' && *path == '\0';
}

static bool method_matches(const char *wanted, const char *method)
{
    return strcmp(wanted, method) == 0 ||
           (strcmp(wanted, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

static bool is_listed(const char *names, const char *name)
{
    size_t length = strlen(name);

    if (strchr(name, ' ') != NULL)
        return false;
    for (const char *at = names; length > 0 && (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

struct parameter_check {
    const struct http_request *request;
    const char *names; /* that the route takes */
    char unknown[64], doubled[64]; /* the first of each; "" when there is none */
};

static bool check_parameter(void *arg, const char *name, const char *value)
{
    struct parameter_check *check = arg;

    if (!is_listed(check->names, name))
        (void)snprintf(check->unknown, sizeof(check->unknown), "%s", *name == '\0' ? "?" : name);
    else if (strcmp(http_query(check->request, name), value) != 0)
        (void)snprintf(check->doubled, sizeof(check->doubled), "%s", name);
    return check->unknown[0] == '\0' && check->doubled[0] == '\0';
}

static bool parameters_are_known(struct call *c, const struct route *route)
{
    struct parameter_check check = {.request = c->request, .names = route->parameters};

    http_each_query(c->request, check_parameter, &check);
    if (check.unknown[0] != '\0')
        call_fail(c, ST_INVALID, "there is no parameter '%s' here; %s%s", check.unknown,
                  route->parameters[0] == '\0' ? "none is accepted" : "accepted are: ",
                  route->parameters);
    else if (check.doubled[0] != '\0')
        call_fail(c, ST_INVALID, "the parameter '%s' is given twice with different values",
                  check.doubled);
    else
        return true;
    return false;
}

static bool session_is_named(struct call *c, const char *id, size_t length)
{
    char text[SESSION_ID_TEXT_MAX] = "";

    if (id == NULL)
        return true; /* the path has none */
    if (length < sizeof(text))
        memcpy(text, id, length);
    if (session_id_parse(text, &c->session) == ST_OK)
        return true;
    call_fail(c, ST_INVALID, "'%.*s' is not a session's id, which is 16 hexadecimal digits",
              length > 64 ? 64 : (int)length, id);
    return false;
}

static void route_call(struct call *c)
{
    const char *path = http_path(c->request), *id = NULL;
    char allow[32] = "";
    size_t id_length = 0;

    for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
        const struct route *route = &routes[i];

        if (!path_matches(route->path, path, &id, &id_length))
            continue;
        if (method_matches(route->method, http_method(c->request))) {
            if (session_is_named(c, id, id_length) && parameters_are_known(c, route))
                route->handle(c);
            return;
        }
        (void)snprintf(allow + strlen(allow), sizeof(allow) - strlen(allow), "%s%s",
                       allow[0] == '\0' ? "" : ", ", route->method);
    }
    if (allow[0] != '\0')
        fail_method(c, allow);
    else
        call_fail(c, ST_NOT_FOUND, "there is nothing at %.200s; the API is at /api/v1", path);
}

void api_handle(void *api, struct http_request *r)
{
    struct call c = {.api = api, .request = r, .now = clock_wall()};

    if (c.api->quiescing)
        call_fail(&c, ST_CLOSED, "the coordinator is shutting down");
    else
        route_call(&c);
}

/* ---- life ---- */

enum status api_new(const struct api_options *options, struct api **out)
{
    struct api *a = calloc(1, sizeof(*a));
    enum status st = ST_NOMEM;

    if (a == NULL)
        return ST_NOMEM;
    a->options = *options;
    a->started = clock_wall();
    st = session_events_new(options->loop, options->control, &a->events);
    if (st != ST_OK) {
        free(a);
        return st;
    }
    *out = a;
    return ST_OK;
}

void api_free(struct api *a)
{
    if (a == NULL)
        return;
    session_events_free(a->events);
    free(a);
}

void api_session_changed(void *api, uint64_t session)
{
    struct api *a = api;

    session_events_changed(a->events, session);
}

void api_check_idle(struct api *a)
{
    void (*idle)(void *arg) = a->idle;

    if (!a->events_stopped || a->commands > 0 || a->questions > 0 || idle == NULL)
        return;
    a->idle = NULL;
    idle(a->idle_arg);
}

static void on_events_stopped(void *arg)
{
    struct api *a = arg;

    a->events_stopped = true;
    api_check_idle(a);
}

void api_quiesce(struct api *a, void (*idle)(void *arg), void *arg)
{
    a->quiescing = true;
    a->idle = idle;
    a->idle_arg = arg;
    session_events_stop(a->events, on_events_stopped, a);
}
