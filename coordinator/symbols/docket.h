/* docket - which binaries a debuginfod server has been, or soon will be, asked for, and until when
 * each is left alone: what a server does not have is not asked for again and again. No I/O, no
 * clock. Loop thread. */
#ifndef COORDINATOR_SYMBOLS_DOCKET_H
#define COORDINATOR_SYMBOLS_DOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/id.h"
#include "common/status.h"

enum { DOCKET_MAX = 16384 }; /* binaries; about 100 bytes each */

struct docket; /* opaque */

enum status docket_new(struct docket **out);
void docket_free(struct docket *d); /* NULL is fine */

/* May it be asked for now? One that is new here may after `grace_ns`. False, too, while the docket
 * is full of others that rest. */
bool docket_is_due(struct docket *d, const struct build_id *id, struct mono now, uint64_t grace_ns);
/* Leaves a binary that was due alone until then. */
void docket_rest(struct docket *d, const struct build_id *id, struct mono until);
uint32_t docket_count(const struct docket *d);

#endif
