/* agent_record - what the store keeps of an agent, so that the inventory outlives a restart.
 * Key: the host's name. Value: a msgpack map. */
#ifndef COORDINATOR_CONTROL_AGENT_RECORD_H
#define COORDINATOR_CONTROL_AGENT_RECORD_H

#include "common/status.h"
#include "common/wire.h"
#include "coordinator/control/fleet.h"

/* Appends to `w` after resetting it. */
enum status agent_record_encode(const struct agent *a, struct wire_writer *w);
/* Fills the durable part of `out`, whose host is set. ST_INVALID; `out` is untouched then. */
enum status agent_record_decode(struct slice bytes, struct agent *out);

#endif
