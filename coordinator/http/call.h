/* call - one request on its way through the API: what its route needs, and its answers.
 * The inside of api.h, shared by the routes. Loop thread only. */
#ifndef COORDINATOR_HTTP_CALL_H
#define COORDINATOR_HTTP_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "coordinator/http/api.h"
#include "coordinator/http/json.h"

#define ROUTE_WINDOW "session from to select event"
#define ROUTE_SIDES "a b select_a select_b"

enum { CALL_MESSAGE_MAX = 1024 }; /* bytes of an error's message; longer ones are cut */

struct session_events; /* session_events.h */

struct api {
    struct api_options options;
    struct wall started;
    struct session_events *events;
    uint32_t commands; /* that wait for the store */
    uint32_t questions; /* that run or wait for a worker */
    uint64_t questions_asked, questions_refused;
    bool quiescing, events_stopped;
    void (*idle)(void *arg); /* after quiesce; NULL once called */
    void *idle_arg;
};

struct call {
    struct api *api;
    struct http_request *request;
    struct wall now;
    uint64_t session; /* {id} of the path */
};

#define X(method, path, handler, parameters) void route_##handler(struct call *c);
#include "coordinator/http/routes.def"
#undef X

/* Each of these answers the request. */
void call_answer(struct call *c, unsigned code, json_t *value); /* takes it; NULL: out of memory */
void call_answer_text(struct call *c, const char *media_type, struct slice text);
void call_fail(struct call *c, enum status st, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* To be called whenever a command or question has ended: quiescing waits for it. */
void api_check_idle(struct api *a);

#endif
