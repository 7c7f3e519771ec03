/* symbol_desk - see symbol_desk.h. Entries are found by build id through a balanced tree
 * (tsearch(3)), and looked through in an array. */
#include "coordinator/symbol_desk.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

struct missing {
    struct build_id id;
    void *peers[SYMBOL_DESK_PEERS_MAX]; /* who runs it and has not failed; packed to the front */
    void *asked; /* one of them; NULL: nobody yet */
    struct mono deadline; /* of the asked; or, without peers, of the entry itself */
    uint32_t place;
};

struct symbol_desk {
    struct missing **missing;
    uint32_t count;
    void *by_id;
};

static int compare_ids(const void *a, const void *b)
{
    const struct missing *x = a, *y = b;

    if (x->id.length != y->id.length)
        return x->id.length < y->id.length ? -1 : 1;
    return memcmp(x->id.bytes, y->id.bytes, x->id.length);
}

static void free_nothing(void *node)
{
    (void)node;
}

enum status symbol_desk_new(struct symbol_desk **out)
{
    struct symbol_desk *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return ST_NOMEM;
    d->missing = calloc(SYMBOL_DESK_MAX, sizeof(struct missing *));
    if (d->missing == NULL) {
        free(d);
        return ST_NOMEM;
    }
    *out = d;
    return ST_OK;
}

void symbol_desk_free(struct symbol_desk *d)
{
    if (d == NULL)
        return;
    tdestroy(d->by_id, free_nothing);
    for (uint32_t i = 0; i < d->count; i++)
        free(d->missing[i]);
    free(d->missing);
    free(d);
}

static struct missing *find(const struct symbol_desk *d, const struct build_id *id)
{
    struct missing key = {.id = *id};
    struct missing **node = tfind(&key, &d->by_id, compare_ids);

    return node != NULL ? *node : NULL;
}

static enum status add(struct symbol_desk *d, const struct build_id *id, struct missing **out)
{
    struct missing *e;

    if (d->count == SYMBOL_DESK_MAX)
        return ST_FULL;
    e = calloc(1, sizeof(*e));
    if (e == NULL)
        return ST_NOMEM;
    e->id = *id;
    if (tsearch(e, &d->by_id, compare_ids) == NULL) {
        free(e);
        return ST_NOMEM;
    }
    e->place = d->count++;
    d->missing[e->place] = e;
    *out = e;
    return ST_OK;
}

static void drop(struct symbol_desk *d, struct missing *e)
{
    struct missing *last = d->missing[--d->count];

    tdelete(e, &d->by_id, compare_ids);
    d->missing[e->place] = last;
    last->place = e->place;
    free(e);
}

static bool has_peer(const struct missing *e, const void *peer)
{
    for (size_t i = 0; i < SYMBOL_DESK_PEERS_MAX; i++)
        if (e->peers[i] == peer)
            return true;
    return false;
}

static void remove_peer(struct missing *e, const void *peer)
{
    size_t kept = 0;

    for (size_t i = 0; i < SYMBOL_DESK_PEERS_MAX; i++)
        if (e->peers[i] != peer)
            e->peers[kept++] = e->peers[i];
    while (kept < SYMBOL_DESK_PEERS_MAX)
        e->peers[kept++] = NULL;
    if (e->asked == peer)
        e->asked = NULL;
}

/* An entry that has lost its last peer rests; for how long depends on why. */
static void rest_without_peers(struct missing *e, struct mono until)
{
    if (e->peers[0] == NULL)
        e->deadline = until;
}

enum status symbol_desk_want(struct symbol_desk *d, const struct build_id *id, void *peer,
                             struct mono now)
{
    struct missing *e = find(d, id);
    bool is_new = e == NULL;
    enum status st = is_new ? add(d, id, &e) : ST_OK;

    if (st != ST_OK || has_peer(e, peer))
        return st;
    /* Everyone asked so far has failed: not again before its rest is over. */
    if (!is_new && e->peers[0] == NULL && !mono_reached(now, e->deadline))
        return ST_OK;
    for (size_t i = 0; i < SYMBOL_DESK_PEERS_MAX; i++) {
        if (e->peers[i] != NULL)
            continue;
        e->peers[i] = peer;
        break;
    }
    return ST_OK;
}

uint32_t symbol_desk_ask(struct symbol_desk *d, void *peer, struct mono now, struct build_id *out,
                         uint32_t max)
{
    uint32_t asked = 0, asked_all = 0, chosen = 0;

    for (uint32_t i = 0; i < d->count; i++) {
        asked += d->missing[i]->asked == peer;
        asked_all += d->missing[i]->asked != NULL;
    }
    for (uint32_t i = 0; i < d->count && chosen < max; i++) {
        struct missing *e = d->missing[i];

        if (asked + chosen >= SYMBOL_DESK_ASKED_MAX ||
            asked_all + chosen >= SYMBOL_DESK_ASKED_ALL_MAX)
            break;
        if (e->asked != NULL || !has_peer(e, peer))
            continue;
        e->asked = peer;
        e->deadline = mono_after(now, SYMBOL_DESK_PATIENCE_NS);
        out[chosen++] = e->id;
    }
    return chosen;
}

bool symbol_desk_heard(struct symbol_desk *d, const struct build_id *id, void *peer,
                       struct mono now)
{
    struct missing *e = find(d, id);

    if (e == NULL || e->asked != peer)
        return false;
    e->deadline = mono_after(now, SYMBOL_DESK_PATIENCE_NS);
    return true;
}

void *symbol_desk_got(struct symbol_desk *d, const struct build_id *id)
{
    struct missing *e = find(d, id);
    void *peer;

    if (e == NULL)
        return NULL;
    peer = e->asked;
    drop(d, e);
    return peer;
}

void symbol_desk_put_back(struct symbol_desk *d, const struct build_id *id)
{
    struct missing *e = find(d, id);

    if (e != NULL)
        e->asked = NULL;
}

void *symbol_desk_lacks(struct symbol_desk *d, const struct build_id *id, struct mono now)
{
    struct missing *e = find(d, id);

    if (e == NULL || e->asked == NULL)
        return NULL;
    remove_peer(e, e->asked);
    rest_without_peers(e, mono_after(now, SYMBOL_DESK_AGAIN_NS));
    return e->peers[0];
}

void symbol_desk_gone(struct symbol_desk *d, void *peer, void (*look_after)(void *arg, void *peer),
                      void *arg)
{
    for (uint32_t i = 0; i < d->count; i++) {
        struct missing *e = d->missing[i];

        if (!has_peer(e, peer))
            continue;
        remove_peer(e, peer);
        rest_without_peers(e, (struct mono){0}); /* it has not failed: welcome at once */
        if (e->asked == NULL && e->peers[0] != NULL)
            look_after(arg, e->peers[0]);
    }
}

void symbol_desk_expire(struct symbol_desk *d, struct mono now,
                        void (*look_after)(void *arg, void *peer), void *arg)
{
    for (uint32_t i = d->count; i > 0; i--) {
        struct missing *e = d->missing[i - 1];

        if (e->asked == NULL && e->peers[0] != NULL)
            look_after(arg, e->peers[0]);
        else if (!mono_reached(now, e->deadline))
            continue;
        else if (e->peers[0] == NULL)
            drop(d, e);
        else {
            void *next = symbol_desk_lacks(d, &e->id, now);

            if (next != NULL)
                look_after(arg, next);
        }
    }
}

uint32_t symbol_desk_count(const struct symbol_desk *d)
{
    return d->count;
}

uint32_t symbol_desk_pending(const struct symbol_desk *d)
{
    uint32_t pending = 0;

    for (uint32_t i = 0; i < d->count; i++)
        pending += d->missing[i]->peers[0] != NULL;
    return pending;
}

bool symbol_desk_is_pending(const struct symbol_desk *d, const struct build_id *id)
{
    const struct missing *e = find(d, id);

    return e != NULL && e->peers[0] != NULL;
}
