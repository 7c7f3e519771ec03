/* cost - what this process has cost its host since it began, from getrusage and /proc/self; the
 * CPU time of its children counts once they have ended. */
#ifndef AGENT_COST_H
#define AGENT_COST_H

#include "common/ledger.h"

/* Fills user_ns, system_ns and rss_bytes; leaves the other members alone. */
void cost_read_process(struct agent_cost *out);

#endif
