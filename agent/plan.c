/* Plans come from another machine: each is judged whole before it replaces the one in force. */
#include "agent/plan.h"

#include "common/chunk.h"
#include "common/event.h"

#define PERIOD_MIN_NS (NS_PER_S / HZ_MAX)
#define PERIOD_MAX_NS (NS_PER_S / HZ_MIN)
#define CHUNK_WINDOW_MIN_NS NS_PER_S /* shorter ones cost more in headers than in samples */

static bool item_is_sound(const struct plan_item *i)
{
    if (i->event == EVENT_NONE) /* refused by whoever runs it; its numbers may mean anything */
        return true;
    return i->period_ns >= PERIOD_MIN_NS && i->period_ns <= PERIOD_MAX_NS &&
           i->chunk_ns >= CHUNK_WINDOW_MIN_NS && i->chunk_ns <= CHUNK_WINDOW_MAX_NS;
}

static struct mono deadline(struct mono now, uint64_t remaining_ns)
{
    if (remaining_ns > UINT64_MAX - now.ns)
        return (struct mono){UINT64_MAX};
    return mono_after(now, remaining_ns);
}

enum status plan_accept(struct plan_state *s, const struct plan *p, struct mono now)
{
    if (p->revision <= s->revision)
        return ST_EXISTS;
    if (p->item_count > MESSAGE_PLAN_ITEMS_MAX)
        return ST_INVALID;
    for (uint32_t i = 0; i < p->item_count; i++)
        if (!item_is_sound(&p->items[i]))
            return ST_INVALID;

    s->revision = p->revision;
    s->wish_count = p->item_count;
    for (uint32_t i = 0; i < p->item_count; i++)
        s->wishes[i] = (struct plan_wish){p->items[i], deadline(now, p->items[i].remaining_ns)};
    return ST_OK;
}

const struct plan_wish *plan_wanted(const struct plan_state *s, enum event event, struct mono now)
{
    for (uint32_t i = 0; i < s->wish_count; i++)
        if (s->wishes[i].item.event == event && !mono_reached(now, s->wishes[i].deadline))
            return &s->wishes[i];
    return NULL;
}
