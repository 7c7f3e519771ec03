/* planner - see planner.h. */
#include "coordinator/control/planner.h"

#include <string.h>

void planner_want(struct planner *p, enum event event, struct planner_need wish, struct wall now)
{
    struct planner_need *need = &p->needs[event];

    if (wish.hz == 0 || wish.ends.ns <= now.ns)
        return;
    if (wish.hz > need->hz)
        need->hz = wish.hz;
    if (wish.ends.ns > need->ends.ns)
        need->ends = wish.ends;
}

enum planner_step planner_step(const struct planner_need *need, bool runs, bool may_begin)
{
    bool wanted = need->hz > 0;

    if (runs)
        return wanted ? PLANNER_KEEP : PLANNER_END;
    return wanted && may_begin ? PLANNER_ASSIGN : PLANNER_REST;
}

uint64_t planner_period_ns(uint32_t hz)
{
    return hz > 0 ? NS_PER_S / hz : 0;
}

bool planned_equal(const struct planned *a, const struct planned *b)
{
    for (size_t e = 0; e < EVENT_PLACES; e++) {
        const struct planned_item *x = &a->items[e], *y = &b->items[e];

        if (!id128_equal(x->profiler, y->profiler))
            return false;
        if (x->need.hz != y->need.hz || x->need.ends.ns != y->need.ends.ns)
            return false;
    }
    return true;
}

void planned_message(const struct planned *p, uint64_t revision, struct wall now, uint64_t chunk_ns,
                     struct plan *out)
{
    memset(out, 0, sizeof(*out));
    out->revision = revision;
    for (size_t e = 0; e < EVENT_PLACES; e++) {
        const struct planned_item *item = &p->items[e];

        if (id128_is_zero(item->profiler) || item->need.ends.ns <= now.ns)
            continue;
        out->items[out->item_count++] = (struct plan_item){
            .profiler = item->profiler,
            .event = (enum event)e,
            .period_ns = planner_period_ns(item->need.hz),
            .remaining_ns = item->need.ends.ns - now.ns,
            .chunk_ns = chunk_ns,
        };
    }
}
