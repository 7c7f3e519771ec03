/* params - query parameters made into the parts of a question. Each fault names the parameter, its
 * value and what would be accepted. Loop thread only. */
#ifndef COORDINATOR_HTTP_PARAMS_H
#define COORDINATOR_HTTP_PARAMS_H

#include "coordinator/http/question.h"

/* Each returns false when it has answered the call with an error. */

/* session | from, to; select, event: the first side. Without any: the last hour of every host. */
bool params_window(struct call *c, struct question *q);
/* a, b (a session's id or from..to), select_a, select_b; and event, for both. */
bool params_sides(struct call *c, struct question *q);
bool params_rank(struct call *c, struct question *q); /* by, limit */
bool params_limit(struct call *c, uint32_t *out); /* limit; absent: `out` stays. 0: all */
/* A selector by parameter `name`; absent: NULL. The caller frees it. */
bool params_selector(struct call *c, const char *name, struct selector **out);

#endif
