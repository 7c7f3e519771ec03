/* ledger_codec - how a ledger, ends of walks and an agent's cost travel, in chunks and heartbeats
 * alike. */
#ifndef COMMON_LEDGER_CODEC_H
#define COMMON_LEDGER_CODEC_H

#include "common/ledger.h"
#include "common/walks.h"
#include "common/wire.h"

void ledger_put(struct wire_writer *w, const struct ledger *l);
/* ST_UNSUPPORTED: samples were lost to a cause that this build has no name for. */
struct ledger ledger_get(struct wire_reader *r);

void agent_cost_put(struct wire_writer *w, const struct agent_cost *c);
struct agent_cost agent_cost_get(struct wire_reader *r);

void walks_put(struct wire_writer *w, const struct walks *walks);
/* ST_UNSUPPORTED: counts of ends past WALKS_MAX. */
struct walks walks_get(struct wire_reader *r);

#endif
