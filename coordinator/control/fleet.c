/* fleet - see fleet.h. Agents are found by host and by link through balanced trees (tsearch(3)). */
#include "coordinator/control/fleet.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct fleet {
    struct agent **agents;
    uint32_t count, limit, connected;
    void *by_host;
    void *by_link; /* connected ones only */
};

static int compare_hosts(const void *a, const void *b)
{
    const struct agent *x = a, *y = b;

    return strcmp(x->host, y->host);
}

static int compare_links(const void *a, const void *b)
{
    const struct agent *x = a, *y = b;

    return ((uintptr_t)x->link > (uintptr_t)y->link) - ((uintptr_t)x->link < (uintptr_t)y->link);
}

static void free_nothing(void *node)
{
    (void)node;
}

static void agent_free(struct agent *a)
{
    labels_deinit(&a->labels);
    free(a);
}

enum status fleet_new(uint32_t agents_max, struct fleet **out)
{
    struct fleet *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return ST_NOMEM;
    f->limit = agents_max;
    f->agents = calloc(agents_max, sizeof(struct agent *));
    if (f->agents == NULL) {
        free(f);
        return ST_NOMEM;
    }
    *out = f;
    return ST_OK;
}

void fleet_free(struct fleet *f)
{
    if (f == NULL)
        return;
    tdestroy(f->by_link, free_nothing);
    tdestroy(f->by_host, free_nothing);
    for (uint32_t i = 0; i < f->count; i++)
        agent_free(f->agents[i]);
    free(f->agents);
    free(f);
}

enum status fleet_add(struct fleet *f, const char *host, struct agent **out)
{
    struct agent *a = fleet_find(f, host);

    if (a == NULL && f->count == f->limit)
        return ST_FULL;
    if (a == NULL) {
        a = calloc(1, sizeof(*a));
        if (a == NULL)
            return ST_NOMEM;
        a->core_share = -1;
        memcpy(a->host, host, strnlen(host, MESSAGE_HOST_MAX));
        if (tsearch(a, &f->by_host, compare_hosts) == NULL) {
            free(a);
            return ST_NOMEM;
        }
        a->place = f->count++;
        f->agents[a->place] = a;
    }
    *out = a;
    return ST_OK;
}

struct agent *fleet_find(const struct fleet *f, const char *host)
{
    size_t length = strnlen(host, MESSAGE_HOST_MAX);
    struct agent key; /* only its host is looked at */
    struct agent **node;

    memcpy(key.host, host, length);
    key.host[length] = '\0';
    node = tfind(&key, &f->by_host, compare_hosts);
    return node != NULL ? *node : NULL;
}

struct agent *fleet_by_link(const struct fleet *f, const struct link *link)
{
    struct agent key;
    struct agent **node;

    memcpy(&key.link, &link, sizeof(struct link *)); /* only compared, never followed */
    node = tfind(&key, &f->by_link, compare_links);
    return node != NULL ? *node : NULL;
}

void fleet_forget(struct fleet *f, struct agent *a)
{
    struct agent *last = f->agents[--f->count];

    fleet_disconnect(f, a);
    tdelete(a, &f->by_host, compare_hosts);
    f->agents[a->place] = last;
    last->place = a->place;
    agent_free(a);
}

struct agent *fleet_longest_away(const struct fleet *f)
{
    struct agent *longest = NULL;

    for (uint32_t i = 0; i < f->count; i++) {
        struct agent *a = f->agents[i];

        if (a->link == NULL && (longest == NULL || a->last_seen.ns < longest->last_seen.ns))
            longest = a;
    }
    return longest;
}

enum status fleet_connect(struct fleet *f, struct agent *a, struct link *link)
{
    fleet_disconnect(f, a);
    a->link = link;
    if (tsearch(a, &f->by_link, compare_links) == NULL) {
        a->link = NULL;
        return ST_NOMEM;
    }
    f->connected++;
    return ST_OK;
}

void fleet_disconnect(struct fleet *f, struct agent *a)
{
    if (a->link == NULL)
        return;
    tdelete(a, &f->by_link, compare_links);
    a->link = NULL;
    f->connected--;
}

uint32_t fleet_count(const struct fleet *f)
{
    return f->count;
}

uint32_t fleet_connected(const struct fleet *f)
{
    return f->connected;
}

struct agent *fleet_at(const struct fleet *f, uint32_t index)
{
    return f->agents[index];
}

static double cpu_ns(const struct agent_cost *c)
{
    return (double)c->user_ns + (double)c->system_ns + (double)c->bpf_ns;
}

/* Costs are of the agent's whole life: what it took of late is the step between two heartbeats. */
void agent_take_heartbeat(struct agent *a, const struct heartbeat *h)
{
    double time_ns = (double)h->sent_mono.ns - (double)a->last.sent_mono.ns;
    double taken_ns = cpu_ns(&h->cost) - cpu_ns(&a->last.cost);

    if (a->last.sent_mono.ns > 0 && time_ns > 0 && taken_ns >= 0)
        a->core_share = taken_ns / time_ns;
    a->last = *h;
}

void agent_heard(struct agent *a, struct mono now, struct wall wall)
{
    a->heard = now;
    a->last_seen = wall;
}

bool agent_is_silent(const struct agent *a, struct mono now)
{
    return a->link != NULL && mono_since(now, a->heard) >= CONTROL_IDLE_NS;
}
