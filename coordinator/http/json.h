/* json - small helpers over jansson for the views. Values that the API shows in several places have
 * their form here, once. Any thread. */
#ifndef COORDINATOR_HTTP_JSON_H
#define COORDINATOR_HTTP_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/id.h"
#include "common/labels.h"
#include "common/ledger.h"
#include "common/status.h"
#include "coordinator/query/estimate.h"
#include "coordinator/query/profile.h"

/* These return NULL when memory is short, which json_pack's "o" passes on. */
json_t *json_text(const char *text); /* NULL: null; bytes that are no UTF-8 become '?' */
json_t *json_u64(uint64_t value); /* capped at 2^63-1, the largest that jansson holds */
json_t *json_finite(double value, double otherwise); /* JSON knows no NaN and no infinity */
json_t *json_ns(double ns); /* whole ns */
json_t *json_seconds(uint64_t ns);
json_t *json_hz(uint64_t period_ns); /* 0 for 0; to a thousandth */
json_t *json_time(struct wall t); /* ISO 8601; null for 0 */
json_t *json_id128(struct id128 id); /* null for the zero id */
json_t *json_labels(const struct labels *labels);

json_t *json_losses(const struct ledger *l); /* {"ring_full": 0, ...}: every cause */
json_t *json_walks(const struct walks *w); /* {"none": 0, "root": 0, ..., "other": 0} */
json_t *json_root_share(const struct walks *w); /* null: no end of a walk is known */
json_t *json_cost(const struct agent_cost *c);
json_t *json_coverage(const struct coverage *c);
json_t *json_estimate(const struct estimate *e, uint64_t samples);

/* Serialises and frees `value`; NULL is ST_NOMEM. `out` is malloc'd and ends in a newline. */
enum status json_finish(json_t *value, char **out, size_t *out_length);

#endif
