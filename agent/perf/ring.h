/* ring - a perf event's record buffer, shared with the kernel. One reader; no wake-ups. */
#ifndef AGENT_PERF_RING_H
#define AGENT_PERF_RING_H

#include <stdint.h>

#include "common/status.h"

struct perf_event_header; /* <linux/perf_event.h> */
struct perf_ring; /* opaque */

/* `fd` is an open event, lent until perf_ring_close; `data_bytes` a power of two of whole pages. */
enum status perf_ring_open(int fd, uint32_t data_bytes, struct perf_ring **out);
void perf_ring_close(struct perf_ring *r); /* NULL is fine */

/* The oldest record, whole and in one piece, valid until the next call, which frees its room.
 * header->size bytes may be read. NULL: none is left. */
const struct perf_event_header *perf_ring_next(struct perf_ring *r);

uint64_t perf_ring_bytes(const struct perf_ring *r); /* of locked memory */

#endif
