/* profilers - see profilers.h. A balanced tree by id (tsearch(3)). */
#include "coordinator/control/profilers.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct profilers {
    void *by_id; /* of struct profiler */
};

static int compare_ids(const void *a, const void *b)
{
    const struct profiler *x = a, *y = b;

    return memcmp(x->record.id.bytes, y->record.id.bytes, ID128_BYTES);
}

static void profiler_free(void *node)
{
    struct profiler *p = node;

    profiler_record_deinit(&p->record);
    free(p->members);
    free(p);
}

enum status profilers_new(struct profilers **out)
{
    struct profilers *t = calloc(1, sizeof(*t));

    if (t == NULL)
        return ST_NOMEM;
    *out = t;
    return ST_OK;
}

void profilers_free(struct profilers *t)
{
    if (t == NULL)
        return;
    tdestroy(t->by_id, profiler_free);
    free(t);
}

enum status profilers_add_take(struct profilers *t, struct profiler_record *record,
                               struct profiler **out)
{
    struct profiler *p = calloc(1, sizeof(*p));
    struct profiler **node;

    if (p == NULL)
        return ST_NOMEM;
    p->record = *record;
    node = tsearch(p, &t->by_id, compare_ids);
    if (node == NULL || *node != p) {
        free(p);
        return node == NULL ? ST_NOMEM : ST_EXISTS;
    }
    record->labels = (struct labels){0};
    *out = p;
    return ST_OK;
}

struct profiler *profilers_find(const struct profilers *t, struct id128 id)
{
    struct profiler key = {.record.id = id};
    struct profiler **node = tfind(&key, &t->by_id, compare_ids);

    return node != NULL ? *node : NULL;
}

void profilers_drop(struct profilers *t, struct profiler *p)
{
    tdelete(p, &t->by_id, compare_ids);
    profiler_free(p);
}

struct walk {
    void (*visit)(void *arg, struct profiler *p);
    void *arg;
};

static void visit_node(const void *node, VISIT which, void *closure)
{
    struct profiler *const *p = node;
    const struct walk *w = closure;

    if (which == postorder || which == leaf)
        w->visit(w->arg, *p);
}

void profilers_each(const struct profilers *t, void (*visit)(void *arg, struct profiler *p),
                    void *arg)
{
    struct walk w = {visit, arg};

    twalk_r(t->by_id, visit_node, &w);
}

/* Steps only lead onward: whatever comes late or twice finds no edge. HOST_PLANNED, zero, is never
 * led to, so it stands for "no edge". */
static const enum host_state next[HOST_STATES][PROFILER_STEPS] = {
    [HOST_PLANNED] = {[STEP_SENT] = HOST_SENT, [STEP_ENDED] = HOST_ENDED},
    [HOST_SENT] = {[STEP_ACCEPTED] = HOST_ACCEPTED,
                   [STEP_ATTACHED] = HOST_ATTACHED,
                   [STEP_SAMPLED] = HOST_SAMPLING,
                   [STEP_DRAINS] = HOST_DRAINING,
                   [STEP_ENDED] = HOST_ENDED,
                   [STEP_REFUSED] = HOST_REFUSED},
    [HOST_ACCEPTED] = {[STEP_ATTACHED] = HOST_ATTACHED,
                       [STEP_SAMPLED] = HOST_SAMPLING,
                       [STEP_DRAINS] = HOST_DRAINING,
                       [STEP_ENDED] = HOST_ENDED,
                       [STEP_REFUSED] = HOST_REFUSED},
    [HOST_ATTACHED] = {[STEP_SAMPLED] = HOST_SAMPLING,
                       [STEP_DRAINS] = HOST_DRAINING,
                       [STEP_ENDED] = HOST_ENDED,
                       [STEP_REFUSED] = HOST_REFUSED},
    [HOST_SAMPLING] = {[STEP_DRAINS] = HOST_DRAINING, [STEP_ENDED] = HOST_ENDED},
    [HOST_DRAINING] = {[STEP_ENDED] = HOST_ENDED},
};

bool profiler_take_step(struct profiler *p, enum profiler_step step)
{
    enum host_state to = next[p->state][step];

    if (to == HOST_PLANNED)
        return false;
    p->state = to;
    return true;
}

void profiler_count_chunk(struct profiler *p, uint64_t sequence, struct wall end, bool final)
{
    p->chunks++;
    if (sequence > p->sequence_max)
        p->sequence_max = sequence;
    if (end.ns > p->covered_to.ns)
        p->covered_to = end;
    if (final && !p->sequence_known) {
        p->sequence_known = true;
        p->record.last_sequence = sequence;
    }
}

uint64_t profiler_missing(const struct profiler *p)
{
    uint64_t last = p->sequence_max;

    if (p->sequence_known && p->record.last_sequence > last)
        last = p->record.last_sequence;
    return last > p->chunks ? last - p->chunks : 0;
}

bool profiler_settled(const struct profiler *p, struct wall to)
{
    if (p->state == HOST_REFUSED || p->drained)
        return true;
    if (profiler_missing(p) > 0)
        return false;
    return p->sequence_known || p->covered_to.ns >= to.ns;
}

enum status profiler_join(struct profiler *p, struct session *s, uint32_t index)
{
    struct profiler_member *members =
        realloc(p->members, (p->member_count + 1) * sizeof(*p->members));

    if (members == NULL)
        return ST_NOMEM;
    p->members = members;
    p->members[p->member_count++] = (struct profiler_member){s, index};
    return ST_OK;
}

uint32_t profiler_first_member(const struct profiler *p, const struct session *s)
{
    for (uint32_t i = 0; i < p->member_count; i++)
        if (p->members[i].session == s)
            return p->members[i].index;
    return UINT32_MAX;
}

void profiler_leave(struct profiler *p, const struct session *s)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < p->member_count; i++)
        if (p->members[i].session != s)
            p->members[kept++] = p->members[i];
    p->member_count = kept;
}
