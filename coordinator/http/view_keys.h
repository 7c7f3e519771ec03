/* view_keys - what rankings and comparisons show alike: dimensions, keys, the whole's cores. */
#ifndef COORDINATOR_HTTP_VIEW_KEYS_H
#define COORDINATOR_HTTP_VIEW_KEYS_H

#include "coordinator/http/json.h"
#include "coordinator/query/rank.h"

json_t *view_by(const enum rank_by *by, uint32_t count); /* ["service", "function"] */
json_t *view_key(char *const *key, uint32_t count); /* ["checkout", "parse"] */
json_t *view_cores(const struct profile *p); /* weight over window; 0 for an empty window */

#endif
