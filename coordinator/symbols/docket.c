/* docket - see docket.h. Entries are found through a balanced tree (tsearch(3)); those whose rest
 * has been over for longest make room. */
#include "coordinator/symbols/docket.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct rest {
    struct build_id id;
    struct mono until;
};

struct docket {
    void *by_id;
    struct rest *entries[DOCKET_MAX];
    uint32_t count;
};

static int compare_ids(const void *a, const void *b)
{
    const struct rest *x = a, *y = b;

    if (x->id.length != y->id.length)
        return x->id.length < y->id.length ? -1 : 1;
    return memcmp(x->id.bytes, y->id.bytes, x->id.length);
}

static void free_nothing(void *node)
{
    (void)node;
}

enum status docket_new(struct docket **out)
{
    struct docket *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return ST_NOMEM;
    *out = d;
    return ST_OK;
}

void docket_free(struct docket *d)
{
    if (d == NULL)
        return;
    tdestroy(d->by_id, free_nothing);
    for (uint32_t i = 0; i < d->count; i++)
        free(d->entries[i]);
    free(d);
}

static struct rest *find(const struct docket *d, const struct build_id *id)
{
    struct rest key = {.id = *id};
    struct rest **node = tfind(&key, &d->by_id, compare_ids);

    return node != NULL ? *node : NULL;
}

/* Drops the entry that became due first. False: all of them rest. */
static bool make_room(struct docket *d, struct mono now)
{
    uint32_t first = 0;
    struct rest *e;

    for (uint32_t i = 1; i < d->count; i++)
        if (d->entries[i]->until.ns < d->entries[first]->until.ns)
            first = i;
    e = d->entries[first];
    if (!mono_reached(now, e->until))
        return false;
    tdelete(e, &d->by_id, compare_ids);
    d->entries[first] = d->entries[--d->count];
    free(e);
    return true;
}

static void add(struct docket *d, const struct build_id *id, struct mono now, uint64_t grace_ns)
{
    struct rest *e;

    if (d->count == DOCKET_MAX && !make_room(d, now))
        return;
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return;
    *e = (struct rest){*id, mono_after(now, grace_ns)};
    if (tsearch(e, &d->by_id, compare_ids) == NULL) {
        free(e);
        return;
    }
    d->entries[d->count++] = e;
}

bool docket_is_due(struct docket *d, const struct build_id *id, struct mono now, uint64_t grace_ns)
{
    const struct rest *e = find(d, id);

    if (e != NULL)
        return mono_reached(now, e->until);
    add(d, id, now, grace_ns);
    return false;
}

void docket_rest(struct docket *d, const struct build_id *id, struct mono until)
{
    struct rest *e = find(d, id);

    if (e != NULL)
        e->until = until;
}

uint32_t docket_count(const struct docket *d)
{
    return d->count;
}
