#include "common/ledger.h"

const char *loss_name(enum loss l)
{
    switch (l) {
#define X(number, NAME, text, help) \
    case LOSS_##NAME:               \
        return text;
        LOSS_LIST(X)
#undef X
    case LOSS_KINDS:
        break;
    }
    return "unknown";
}

/* Counters come from other machines: a sum that does not fit stays at the top, it does not wrap. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

uint64_t ledger_lost(const struct ledger *l)
{
    uint64_t lost = 0;

    for (unsigned i = 0; i < LOSS_KINDS; i++)
        lost = add(lost, l->lost[i]);
    return lost;
}

void ledger_add(struct ledger *to, const struct ledger *from)
{
    to->expected = add(to->expected, from->expected);
    to->delivered = add(to->delivered, from->delivered);
    to->idle = add(to->idle, from->idle);
    to->skipped = add(to->skipped, from->skipped);
    for (unsigned i = 0; i < LOSS_KINDS; i++)
        to->lost[i] = add(to->lost[i], from->lost[i]);
}
