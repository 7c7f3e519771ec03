/* stub - an HTTP server for tests: a thread on a UNIX socket that answers from a table and
 * remembers what it was asked. One connection at a time, one answer a connection. */
#ifndef TESTS_UNIT_CLI_STUB_H
#define TESTS_UNIT_CLI_STUB_H

#include <stddef.h>

enum { CANNED_MAX = 8 };

struct canned {
    const char *request; /* "GET /api/v1/status": the beginning of the request line */
    int code;
    const char *type; /* NULL: application/json */
    const char *body;
    unsigned uses; /* how often it is given; 0: always */
    int signal; /* sent to the process once the body is out; 0: none */
};

/* A row of a table of answers: of any type, of JSON, of an event stream. */
#define ANSWER(what, status, media, text)                                    \
    {                                                                        \
        .request = (what), .code = (status), .type = (media), .body = (text) \
    }
#define ANSWER_JSON(what, status, text) ANSWER(what, status, NULL, text)
#define ANSWER_STREAM(what, text) ANSWER(what, 200, "text/event-stream", text)

struct stub; /* opaque */

/* `answers` end with an entry without a request; the table is lent until stub_stop. Each may be
 * given any number of times; the first that fits is taken. What fits none is answered 500. NULL:
 * the server could not be started. */
struct stub *stub_start(const struct canned *answers);
void stub_stop(struct stub *s);

const char *stub_url(const struct stub *s); /* "unix:/..." */
/* Request lines and bodies since the start, one a line; only after the client has its answer. */
const char *stub_asked(const struct stub *s);

#endif
