/* gzip - bytes packed as they come, in the form that gunzip and pprof read. One thread. */
#ifndef COORDINATOR_QUERY_GZIP_H
#define COORDINATOR_QUERY_GZIP_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

struct gzip; /* opaque */

enum status gzip_new(struct gzip **out);
void gzip_free(struct gzip *g); /* NULL is fine */
enum status gzip_add(struct gzip *g, struct slice plain); /* ST_NOMEM, ST_TOO_BIG: over 4 GiB */
/* Once, after the last add. `out` is malloc'd. */
enum status gzip_finish(struct gzip *g, uint8_t **out, size_t *out_length);

#endif
