/* selector - which hosts or processes: "service=checkout,zone!=eu-1,host=~^web,env in (a,b)".
 * A comma is AND. Operators: = != =~ !~ in. A key that is absent has the empty value. "" and "*"
 * select everything. Regular expressions are POSIX extended and match anywhere in the value. */
#ifndef COMMON_SELECTOR_H
#define COMMON_SELECTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "common/labels.h"
#include "common/status.h"

enum {
    SELECTOR_TERMS_MAX = 32,
    SELECTOR_TEXT_MAX = 2048,
    SELECTOR_WHY_MAX = 160, /* a buffer for one sentence that names the fault */
};

struct selector; /* opaque: holds compiled expressions */

/* On ST_INVALID or ST_TOO_BIG `why` names the part at fault and what would be right. */
enum status selector_parse(const char *text, struct selector **out, char why[SELECTOR_WHY_MAX]);
void selector_free(struct selector *s); /* NULL is fine */
bool selector_matches(const struct selector *s, const struct labels *labels);
/* Looks values up through `get`, for callers whose labels are not in a set. */
bool selector_matches_by(const struct selector *s,
                         const char *(*get)(const void *arg, const char *key), const void *arg);

#endif
