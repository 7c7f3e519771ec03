/* plan - what this host should be doing, as the coordinator said last, and until when.
 * Deadlines are turned into the agent's own monotonic clock when a plan arrives: a plan item ends
 * by itself, whatever becomes of the coordinator. Repeats and older revisions change nothing.
 * Value. */
#ifndef AGENT_PLAN_H
#define AGENT_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/message.h"

struct plan_wish {
    struct plan_item item;
    struct mono deadline;
};

struct plan_state { /* zero-initialised: nothing wanted, revision 0 */
    uint64_t revision;
    struct plan_wish wishes[MESSAGE_PLAN_ITEMS_MAX];
    uint32_t wish_count;
};

/* ST_EXISTS: this revision or a newer one is in force (acknowledge that one again); nothing
 * changed. ST_INVALID: an item's period or window is out of range; nothing changed. */
enum status plan_accept(struct plan_state *s, const struct plan *p, struct mono now);

/* The wish for an event that has not passed its deadline; NULL: none. Until s changes. */
const struct plan_wish *plan_wanted(const struct plan_state *s, enum event event, struct mono now);

#endif
