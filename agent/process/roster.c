#include "agent/process/roster.h"

#include <stdlib.h>
#include <string.h>

static struct member **bucket_of(const struct roster *r, uint32_t pid)
{
    return (struct member **)&r->buckets[pid % ROSTER_BUCKETS];
}

static struct queue *queue_of(struct roster *r, const struct member *m)
{
    return m->ended ? &r->ended : &r->living;
}

static void append(struct queue *q, struct member *m)
{
    m->before = q->last;
    m->after = NULL;
    if (q->last != NULL)
        q->last->after = m;
    else
        q->first = m;
    q->last = m;
}

static void unlink_member(struct queue *q, struct member *m)
{
    if (m->before != NULL)
        m->before->after = m->after;
    else
        q->first = m->after;
    if (m->after != NULL)
        m->after->before = m->before;
    else
        q->last = m->before;
}

static void member_free(struct member *m)
{
    labels_deinit(&m->process.labels);
    mappings_deinit(&m->mappings);
    jit_free(m->jit);
    free(m);
}

struct member *roster_find(const struct roster *r, uint32_t pid)
{
    struct member *m = *bucket_of(r, pid);

    while (m != NULL && m->process.pid != pid)
        m = m->next_in_bucket;
    return m;
}

static void displace(struct roster *r)
{
    roster_remove(r, r->ended.first != NULL ? r->ended.first : r->living.first);
    r->displaced++;
}

struct member *roster_add(struct roster *r, uint32_t pid)
{
    struct member **bucket = bucket_of(r, pid);
    struct member *m = calloc(1, sizeof(*m));

    if (m == NULL)
        return NULL;
    if (r->count >= PROCESSES_MAX)
        displace(r);
    m->process.pid = pid;
    m->threads = 1;
    m->next_in_bucket = *bucket;
    *bucket = m;
    append(&r->living, m);
    r->count++;
    return m;
}

void roster_remove(struct roster *r, struct member *m)
{
    struct member **at = bucket_of(r, m->process.pid);

    while (*at != m)
        at = &(*at)->next_in_bucket;
    *at = m->next_in_bucket;
    unlink_member(queue_of(r, m), m);
    r->count--;
    member_free(m);
}

void roster_touch(struct roster *r, struct member *m)
{
    if (m->ended || r->living.last == m)
        return;
    unlink_member(&r->living, m);
    append(&r->living, m);
}

void roster_end(struct roster *r, struct member *m, struct mono when)
{
    if (m->ended)
        return;
    unlink_member(&r->living, m);
    m->ended = true;
    m->ended_at = when;
    append(&r->ended, m);
}

void roster_revive(struct roster *r, struct member *m)
{
    if (!m->ended)
        return;
    unlink_member(&r->ended, m);
    m->ended = false;
    append(&r->living, m);
}

static void free_members(struct queue *q)
{
    struct member *after;

    for (struct member *m = q->first; m != NULL; m = after) {
        after = m->after;
        member_free(m);
    }
}

void roster_deinit(struct roster *r)
{
    free_members(&r->living);
    free_members(&r->ended);
    memset(r, 0, sizeof(*r));
}
