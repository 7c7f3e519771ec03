#include "common/walks.h"

const char *walk_name(enum walk_end end)
{
    switch (end) {
#define X(number, NAME, text, help) \
    case WALK_##NAME:               \
        return text;
        WALK_LIST(X)
#undef X
    case WALK_ENDS:
        break;
    }
    return "unknown";
}

/* Counters come from other machines: a sum that does not fit stays at the top, it does not wrap. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t sum_from(const struct walks *w, unsigned first)
{
    uint64_t sum = 0;

    for (unsigned i = first; i < WALKS_MAX; i++)
        sum = add(sum, w->count[i]);
    return sum;
}

void walks_add(struct walks *to, const struct walks *from)
{
    for (unsigned i = 0; i < WALKS_MAX; i++)
        to->count[i] = add(to->count[i], from->count[i]);
}

uint64_t walks_sum(const struct walks *w)
{
    return sum_from(w, 0);
}

uint64_t walks_user(const struct walks *w)
{
    return sum_from(w, WALK_NONE + 1);
}

uint64_t walks_other(const struct walks *w)
{
    return sum_from(w, WALK_ENDS);
}

double walks_root_share(const struct walks *w)
{
    uint64_t user = walks_user(w);

    return user > 0 ? (double)w->count[WALK_ROOT] / (double)user : -1;
}
