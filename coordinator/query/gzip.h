/* gzip - a buffer in the form that gunzip and pprof read. Any thread. */
#ifndef COORDINATOR_QUERY_GZIP_H
#define COORDINATOR_QUERY_GZIP_H

#include "common/status.h"
#include "common/wire.h"

/* `out` is malloc'd. ST_NOMEM; ST_TOO_BIG: over 2 GiB. */
enum status gzip(struct slice plain, uint8_t **out, size_t *out_length);

#endif
