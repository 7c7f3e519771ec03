/* The rules of messages: every one that is not about the bytes themselves.
 * Each check names the first rule broken; the sender is told in these words. */
#include "common/chunk.h"
#include "common/message_layout.h"
#include "common/symtab.h"

_Static_assert((int)MESSAGE_SYMBOL_PARTS_MAX ==
                   (int)SYMTAB_PACKED_MAX / (int)MESSAGE_SYMBOL_PART_MAX,
               "the parts of a whole symbol table");
_Static_assert((int)MESSAGE_BYTES_MAX > (int)CHUNK_PACKED_MAX, "a chunk fits its message");

static enum status broken(const char **why, const char *rule)
{
    *why = rule;
    return ST_INVALID;
}

static enum status over_limit(const char **why, const char *rule)
{
    *why = rule;
    return ST_TOO_BIG;
}

static enum status check_hello(const struct hello *h, const char **why)
{
    if (h->host[0] == '\0')
        return broken(why, "a hello names its host");
    if (h->incarnation == 0)
        return broken(why, "a hello has an incarnation");
    if (h->running_count > MESSAGE_PROFILERS_MAX)
        return over_limit(why, "an agent runs at most 64 profilers");
    for (uint32_t i = 0; i < h->running_count; i++)
        if (id128_is_zero(h->running[i]))
            return broken(why, "a profiler's id is not zero");
    return ST_OK;
}

static enum status check_welcome(const struct welcome *w, const char **why)
{
    if (w->window == 0)
        return broken(why, "a window lets at least one chunk through");
    if (w->heartbeat_ns == 0 || w->idle_limit_ns <= w->heartbeat_ns)
        return broken(why, "heartbeats come more often than the idle limit");
    return ST_OK;
}

static enum status check_heartbeat(const struct heartbeat *h, const char **why)
{
    (void)h, (void)why; /* counters and clocks may be anything */
    return ST_OK;
}

static enum status check_heartbeat_reply(const struct heartbeat_reply *h, const char **why)
{
    (void)h, (void)why;
    return ST_OK;
}

static enum status check_plan(const struct plan *p, const char **why)
{
    if (p->item_count > MESSAGE_PLAN_ITEMS_MAX)
        return over_limit(why, "a plan has at most 64 items");
    for (uint32_t i = 0; i < p->item_count; i++) {
        const struct plan_item *item = &p->items[i];

        if (id128_is_zero(item->profiler))
            return broken(why, "a plan's item names its profiler");
        if (item->period_ns == 0 || item->period_ns > CHUNK_PERIOD_MAX_NS)
            return broken(why, "a period is from 1 ns to 600 s");
        if (item->chunk_ns == 0 || item->chunk_ns > CHUNK_WINDOW_MAX_NS)
            return broken(why, "a chunk's window is from 1 ns to 600 s");
    }
    return ST_OK;
}

static enum status check_plan_ack(const struct plan_ack *a, const char **why)
{
    (void)a, (void)why;
    return ST_OK;
}

static enum status check_profiler_state(const struct profiler_report *p, const char **why)
{
    if (id128_is_zero(p->profiler))
        return broken(why, "a profiler's id is not zero");
    switch (p->state) {
    case PROFILER_NONE:
        break;
#define X(number, NAME, text) case PROFILER_##NAME:
        PROFILER_STATE_LIST(X)
#undef X
        return ST_OK;
    }
    return broken(why, "the profiler's state is not known here");
}

static enum status check_chunk(const struct chunk_message *c, const char **why)
{
    if (c->number == 0)
        return broken(why, "uploads are numbered from 1");
    if (c->bytes.length == 0)
        return broken(why, "a chunk has bytes");
    if (c->bytes.length > CHUNK_PACKED_MAX)
        return over_limit(why, "a chunk is at most 4 MiB");
    return ST_OK;
}

static enum status check_chunk_ack(const struct chunk_ack *a, const char **why)
{
    (void)a, (void)why; /* a window of 0 stops the agent for a while */
    return ST_OK;
}

static enum status check_symbols_wanted(const struct symbols_wanted *s, const char **why)
{
    if (s->count > MESSAGE_BUILD_IDS_MAX)
        return over_limit(why, "at most 256 build ids are asked for at once");
    for (uint32_t i = 0; i < s->count; i++)
        if (s->ids[i].length == 0)
            return broken(why, "a build id has at least one byte");
    return ST_OK;
}

static enum status check_symbols(const struct symbols_part *s, const char **why)
{
    bool absent = s->parts == 0;

    if (s->id.length == 0)
        return broken(why, "a build id has at least one byte");
    if (s->parts > MESSAGE_SYMBOL_PARTS_MAX || s->bytes.length > MESSAGE_SYMBOL_PART_MAX)
        return over_limit(why, "symbols come in at most 128 parts of 1 MiB");
    if (absent && (s->part != 0 || s->bytes.length > 0))
        return broken(why, "symbols that the host does not have come in 0 parts");
    if (!absent && (s->part >= s->parts || s->bytes.length == 0))
        return broken(why, "parts are numbered from 0 and have bytes");
    return ST_OK;
}

static enum status check_refusal(const struct refusal *r, const char **why)
{
    if (r->reason == 0 || r->reason >= REFUSAL_REASONS)
        return broken(why, "the reason of the refusal is not known here");
    return ST_OK;
}

enum status message_check(const struct message *m, const char **why)
{
    switch (m->type) {
    case MESSAGE_NONE:
        break;
#define X(number, NAME, name, direction) \
    case MESSAGE_##NAME:                 \
        return check_##name(&m->name, why);
#include "schemas/messages.def"
#undef X
    }
    return broken(why, "there is no such message");
}
