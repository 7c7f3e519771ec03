/* question - one request to the API and its answer as JSON, with the coordinator's refusals turned
 * into messages and outcomes. */
#ifndef COORDINATOR_CLI_QUESTION_H
#define COORDINATOR_CLI_QUESTION_H

#include "coordinator/cli/cli.h"

struct json_t;

enum { PATH_BYTES_MAX = 8000, SESSION_ID_MAX = 64 };

/* A path with its query, being written. */
struct path {
    char text[PATH_BYTES_MAX];
    size_t length;
    bool has_query;
    bool too_long;
};

void path_begin(struct path *p, const char *path); /* "/sessions": below /api/v1 */
/* key=value, escaped; nothing when `value` is NULL. */
void path_add(struct path *p, const char *key, const char *value);
/* One segment of the path, escaped. */
void path_segment(struct path *p, const char *segment);

/* What the coordinator said: printed when it is a refusal. DONE: `out` holds a 2xx answer. */
enum outcome ask(struct cli *c, const struct path *p, struct reply *out);
/* Sends `json` (NULL: nothing). */
enum outcome ask_post(struct cli *c, const struct path *p, const char *json, struct reply *out);
enum outcome ask_post_bytes(struct cli *c, const struct path *p, const void *bytes, size_t length,
                            struct reply *out);
/* As `ask`; `out` (free with answer_free) is the answer as JSON. */
enum outcome ask_json(struct cli *c, const struct path *p, struct json_t **out);
/* Of any answer: prints what a refusal says. */
enum outcome outcome_of_reply(struct cli *c, const struct reply *r);
enum outcome parse_reply(struct cli *c, const struct reply *r, struct json_t **out);
void answer_free(struct json_t *answer);

/* Asks, and prints the answer: its bytes with --json, else by `print`. */
typedef void print_answer(struct cli *c, const struct options *o, const struct json_t *answer);
enum outcome ask_and_print(struct cli *c, const struct options *o, const struct path *p,
                           print_answer *print);
/* The second half: of an answer that came. */
enum outcome print_reply(struct cli *c, const struct options *o, const struct reply *r,
                         print_answer *print);
/* Prints the answer's bytes and ends the line. */
void print_as_is(struct cli *c, const struct reply *r);

/* Adds session, from, to, select and event as given, the session's id written out. */
enum outcome add_window(struct cli *c, const struct options *o, struct path *p);
/* The whole id for "last" or a unique beginning. What matches nothing is left for the coordinator
 * to refuse. */
enum outcome resolve_session(struct cli *c, const char *given, char out[SESSION_ID_MAX]);

#endif
