/* planner - what one host should be doing, worked out from what all live sessions wish for it.
 * Pure: no I/O, no clock, no memory of its own. One item an event, at the highest rate that anyone
 * wants and until the last of them ends, so that a sample is taken once however many look at it. */
#ifndef COORDINATOR_CONTROL_PLANNER_H
#define COORDINATOR_CONTROL_PLANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/event.h"
#include "common/message.h"

enum { /* an array indexed by event has EVENT_PLACES places; the first stays empty */
       EVENT_PLACE_NONE,
#define X(number, NAME, text, unit) EVENT_PLACE_##NAME,
       EVENT_LIST(X)
#undef X
           EVENT_PLACES
};

struct planner_need { /* hz 0: nobody wants the event */
    uint32_t hz;
    struct wall ends;
};

struct planner { /* zero-initialised: nobody wants anything */
    struct planner_need needs[EVENT_PLACES];
};

/* Lays one wish over the others. A wish that is over at `now` changes nothing. */
void planner_want(struct planner *p, enum event event, struct planner_need wish, struct wall now);

enum planner_step {
    PLANNER_REST, /* nothing runs and nothing should, or not yet */
    PLANNER_KEEP, /* the item goes on under its profiler */
    PLANNER_ASSIGN, /* a new profiler begins */
    PLANNER_END, /* the profiler leaves the plan, and is not taken up again */
};

/* `runs`: the event has a profiler that was not ended. `may_begin`: false while the host's last
 * refusal is too fresh to ask again. */
enum planner_step planner_step(const struct planner_need *need, bool runs, bool may_begin);

uint64_t planner_period_ns(uint32_t hz); /* ns of CPU or waiting time between two samples */

struct planned_item {
    struct id128 profiler;
    struct planner_need need;
};

/* One host's plan by event; a zero profiler is an empty place. */
struct planned {
    struct planned_item items[EVENT_PLACES];
};

bool planned_equal(const struct planned *a, const struct planned *b);
/* As it goes on the wire: absolute ends become what remains at `now`. */
void planned_message(const struct planned *p, uint64_t revision, struct wall now, uint64_t chunk_ns,
                     struct plan *out);

#endif
