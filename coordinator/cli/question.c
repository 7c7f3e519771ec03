#include "coordinator/cli/question.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "coordinator/cli/field.h"

enum {
    HTTP_OK = 200,
    HTTP_MULTIPLE = 300, /* the first code that is no success */
    HTTP_INVALID = 400,
    HTTP_NOT_FOUND = 404,
    SESSION_ID_DIGITS = 16,
    MESSAGE_SHOWN_MAX = 300, /* bytes of an answer that is not the API's */
};

/* ---- paths ---- */

void path_begin(struct path *p, const char *path)
{
    int length = snprintf(p->text, sizeof(p->text), "%s", path);

    p->has_query = false;
    p->too_long = length < 0 || (size_t)length >= sizeof(p->text);
    p->length = p->too_long ? 0 : (size_t)length;
}

static void put(struct path *p, char c)
{
    if (p->length + 1 >= sizeof(p->text)) {
        p->too_long = true;
        return;
    }
    p->text[p->length++] = c;
    p->text[p->length] = '\0';
}

/* RFC 3986: everything but the unreserved is written as %XX. */
static void put_escaped(struct path *p, const char *text)
{
    static const char hex[] = "0123456789ABCDEF";

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;

        if (byte < 0x80 && (isalnum(byte) || strchr("-._~", byte) != NULL)) {
            put(p, *text);
            continue;
        }
        put(p, '%');
        put(p, hex[byte >> 4]);
        put(p, hex[byte & 15]);
    }
}

void path_add(struct path *p, const char *key, const char *value)
{
    if (value == NULL)
        return;
    put(p, p->has_query ? '&' : '?');
    p->has_query = true;
    put_escaped(p, key);
    put(p, '=');
    put_escaped(p, value);
}

void path_segment(struct path *p, const char *segment)
{
    put(p, '/');
    put_escaped(p, segment);
}

/* ---- asking ---- */

enum outcome outcome_of_reply(struct cli *c, const struct reply *r)
{
    if (r->code >= HTTP_OK && r->code < HTTP_MULTIPLE)
        return OUTCOME_DONE;

    json_t *answer = json_loads(r->body != NULL ? r->body : "", 0, NULL);
    const char *message = field_text(field(answer, "error"), "message");
    enum outcome outcome = r->code == HTTP_NOT_FOUND ? OUTCOME_NOT_FOUND
                           : r->code == HTTP_INVALID ? OUTCOME_USAGE
                                                     : OUTCOME_FAILED;

    if (message[0] != '\0')
        cli_fail(c, outcome, "%s", message);
    else
        cli_fail(c, outcome, "the coordinator answered %ld: %.*s", r->code, MESSAGE_SHOWN_MAX,
                 r->body != NULL ? r->body : "");
    json_decref(answer);
    return outcome;
}

static enum outcome finish(struct cli *c, enum status st, struct reply *r, struct reply *out)
{
    if (st != ST_OK) {
        const char *why = client_why(c->client);

        return cli_fail(c, OUTCOME_FAILED, "%s", why[0] != '\0' ? why : status_text(st));
    }
    enum outcome outcome = outcome_of_reply(c, r);
    if (outcome == OUTCOME_DONE)
        *out = *r;
    else
        reply_deinit(r);
    return outcome;
}

static enum outcome check_path(struct cli *c, const struct path *p)
{
    return p->too_long
               ? cli_fail(c, OUTCOME_USAGE, "the question is longer than %d bytes", PATH_BYTES_MAX)
               : OUTCOME_DONE;
}

enum outcome ask(struct cli *c, const struct path *p, struct reply *out)
{
    struct reply r = {0};

    if (check_path(c, p) != OUTCOME_DONE)
        return OUTCOME_USAGE;
    return finish(c, client_get(c->client, p->text, &r), &r, out);
}

enum outcome ask_post(struct cli *c, const struct path *p, const char *json, struct reply *out)
{
    struct reply r = {0};

    if (check_path(c, p) != OUTCOME_DONE)
        return OUTCOME_USAGE;
    return finish(c, client_post(c->client, p->text, json, &r), &r, out);
}

enum outcome ask_post_bytes(struct cli *c, const struct path *p, const void *bytes, size_t length,
                            struct reply *out)
{
    struct reply r = {0};

    if (check_path(c, p) != OUTCOME_DONE)
        return OUTCOME_USAGE;
    return finish(c, client_post_bytes(c->client, p->text, bytes, length, &r), &r, out);
}

enum outcome parse_reply(struct cli *c, const struct reply *r, struct json_t **out)
{
    json_error_t error;
    json_t *answer = json_loadb(r->body, r->length, 0, &error);

    if (answer == NULL)
        return cli_fail(c, OUTCOME_FAILED, "the coordinator's answer is not JSON: %s", error.text);
    *out = answer;
    return OUTCOME_DONE;
}

enum outcome ask_json(struct cli *c, const struct path *p, struct json_t **out)
{
    struct reply r = {0};
    enum outcome outcome = ask(c, p, &r);

    if (outcome == OUTCOME_DONE)
        outcome = parse_reply(c, &r, out);
    reply_deinit(&r);
    return outcome;
}

void answer_free(struct json_t *answer)
{
    json_decref(answer);
}

void print_as_is(struct cli *c, const struct reply *r)
{
    fwrite(r->body, 1, r->length, c->out);
    if (r->length == 0 || r->body[r->length - 1] != '\n')
        fputc('\n', c->out);
}

enum outcome print_reply(struct cli *c, const struct options *o, const struct reply *r,
                         print_answer *print)
{
    json_t *answer = NULL;

    if (options_has(o, OPTION_JSON)) {
        print_as_is(c, r);
        return OUTCOME_DONE;
    }
    enum outcome outcome = parse_reply(c, r, &answer);
    if (outcome == OUTCOME_DONE)
        print(c, o, answer);
    answer_free(answer);
    return outcome;
}

enum outcome ask_and_print(struct cli *c, const struct options *o, const struct path *p,
                           print_answer *print)
{
    struct reply r = {0};
    enum outcome outcome = ask(c, p, &r);

    if (outcome == OUTCOME_DONE)
        outcome = print_reply(c, o, &r, print);
    reply_deinit(&r);
    return outcome;
}

/* ---- sessions and windows ---- */

static bool is_whole_id(const char *text)
{
    return strlen(text) == SESSION_ID_DIGITS &&
           strspn(text, "0123456789abcdef") == SESSION_ID_DIGITS;
}

/* The one id that begins with `given`. */
static enum outcome pick_session(struct cli *c, const struct json_t *sessions, const char *given,
                                 char out[SESSION_ID_MAX])
{
    char id[FIELD_ID_MAX];
    size_t found = 0;

    for (size_t i = 0; i < field_count(sessions); i++) {
        field_id(field_at(sessions, i), "id", id);
        if (strncmp(id, given, strlen(given)) == 0 && found++ == 0)
            snprintf(out, SESSION_ID_MAX, "%s", id);
    }
    if (found == 0)
        return cli_fail(c, OUTCOME_NOT_FOUND,
                        "no session's id begins with '%s'; fleetprof sessions lists them", given);
    if (found > 1)
        return cli_fail(c, OUTCOME_USAGE,
                        "'%s' begins the ids of %zu sessions; give more of it (fleetprof sessions "
                        "lists them)",
                        given, found);
    return OUTCOME_DONE;
}

enum outcome resolve_session(struct cli *c, const char *given, char out[SESSION_ID_MAX])
{
    struct path p;
    json_t *answer = NULL;
    bool newest = strcmp(given, "last") == 0;

    if (is_whole_id(given)) {
        snprintf(out, SESSION_ID_MAX, "%s", given);
        return OUTCOME_DONE;
    }
    path_begin(&p, "/sessions");
    path_add(&p, "limit", newest ? "1" : "0"); /* 0: all */
    enum outcome outcome = ask_json(c, &p, &answer);
    if (outcome != OUTCOME_DONE)
        return outcome;

    const struct json_t *sessions = field(answer, "sessions");
    if (!newest)
        outcome = pick_session(c, sessions, given, out);
    else if (field_count(sessions) == 0)
        outcome =
            cli_fail(c, OUTCOME_NOT_FOUND, "there is no session yet; fleetprof start makes one");
    else
        field_id(field_at(sessions, 0), "id", out);
    answer_free(answer);
    return outcome;
}

enum outcome add_window(struct cli *c, const struct options *o, struct path *p)
{
    char id[SESSION_ID_MAX];
    const char *session = options_text(o, OPTION_SESSION, NULL);

    if (session != NULL && (options_has(o, OPTION_FROM) || options_has(o, OPTION_TO)))
        return cli_fail(c, OUTCOME_USAGE,
                        "--session is a window by itself; leave --from and --to away");
    if (session != NULL) {
        enum outcome outcome = resolve_session(c, session, id);

        if (outcome != OUTCOME_DONE)
            return outcome;
        path_add(p, "session", id);
    }
    path_add(p, "from", options_text(o, OPTION_FROM, NULL));
    path_add(p, "to", options_text(o, OPTION_TO, NULL));
    path_add(p, "select", options_text(o, OPTION_SELECT, NULL));
    path_add(p, "event", options_text(o, OPTION_EVENT, NULL));
    return OUTCOME_DONE;
}
