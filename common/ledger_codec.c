#include "common/ledger_codec.h"

enum { PAIRS_MAX = 32, CAUSES_MAX = 64, ENDS_MAX = 64 }; /* of newer peers too */

enum { KEY_EXPECTED = 1, KEY_DELIVERED, KEY_IDLE, KEY_SKIPPED, KEY_LOST };
enum { LEDGER_PAIRS = KEY_LOST };

enum {
    KEY_USER_NS = 1,
    KEY_SYSTEM_NS,
    KEY_BPF_NS,
    KEY_BPF_RUNS,
    KEY_BYTES_SENT,
    KEY_RSS_BYTES,
    KEY_KERNEL_MAP_BYTES,
};
enum { COST_PAIRS = KEY_KERNEL_MAP_BYTES };

static void put_pair(struct wire_writer *w, uint64_t key, uint64_t value)
{
    wire_put_u64(w, key);
    wire_put_u64(w, value);
}

void ledger_put(struct wire_writer *w, const struct ledger *l)
{
    wire_put_map(w, LEDGER_PAIRS);
    put_pair(w, KEY_EXPECTED, l->expected);
    put_pair(w, KEY_DELIVERED, l->delivered);
    put_pair(w, KEY_IDLE, l->idle);
    put_pair(w, KEY_SKIPPED, l->skipped);
    wire_put_u64(w, KEY_LOST);
    wire_put_array(w, LOSS_KINDS);
    for (unsigned i = 0; i < LOSS_KINDS; i++)
        wire_put_u64(w, l->lost[i]);
}

static void get_lost(struct wire_reader *r, struct ledger *l)
{
    uint32_t causes = wire_get_array(r, CAUSES_MAX);

    for (uint32_t i = 0; i < causes; i++) {
        uint64_t samples = wire_get_u64(r);

        if (i < LOSS_KINDS)
            l->lost[i] = samples;
        else if (samples > 0)
            wire_fail(r, ST_UNSUPPORTED);
    }
}

struct ledger ledger_get(struct wire_reader *r)
{
    struct ledger l = {0};
    uint64_t key = 0;

    for (uint32_t n = wire_get_map(r, PAIRS_MAX); n > 0 && wire_key(r, &key); n--) {
        switch (key) {
        case KEY_EXPECTED:
            l.expected = wire_get_u64(r);
            break;
        case KEY_DELIVERED:
            l.delivered = wire_get_u64(r);
            break;
        case KEY_IDLE:
            l.idle = wire_get_u64(r);
            break;
        case KEY_SKIPPED:
            l.skipped = wire_get_u64(r);
            break;
        case KEY_LOST:
            get_lost(r, &l);
            break;
        default:
            wire_skip(r);
        }
    }
    return l;
}

void agent_cost_put(struct wire_writer *w, const struct agent_cost *c)
{
    wire_put_map(w, COST_PAIRS);
    put_pair(w, KEY_USER_NS, c->user_ns);
    put_pair(w, KEY_SYSTEM_NS, c->system_ns);
    put_pair(w, KEY_BPF_NS, c->bpf_ns);
    put_pair(w, KEY_BPF_RUNS, c->bpf_runs);
    put_pair(w, KEY_BYTES_SENT, c->bytes_sent);
    put_pair(w, KEY_RSS_BYTES, c->rss_bytes);
    put_pair(w, KEY_KERNEL_MAP_BYTES, c->kernel_map_bytes);
}

struct agent_cost agent_cost_get(struct wire_reader *r)
{
    struct agent_cost c = {0};
    uint64_t *const fields[] = {
        [KEY_USER_NS] = &c.user_ns,
        [KEY_SYSTEM_NS] = &c.system_ns,
        [KEY_BPF_NS] = &c.bpf_ns,
        [KEY_BPF_RUNS] = &c.bpf_runs,
        [KEY_BYTES_SENT] = &c.bytes_sent,
        [KEY_RSS_BYTES] = &c.rss_bytes,
        [KEY_KERNEL_MAP_BYTES] = &c.kernel_map_bytes,
    };
    uint64_t key = 0;

    for (uint32_t n = wire_get_map(r, PAIRS_MAX); n > 0 && wire_key(r, &key); n--) {
        if (key <= COST_PAIRS)
            *fields[key] = wire_get_u64(r);
        else
            wire_skip(r);
    }
    return c;
}

void walks_put(struct wire_writer *w, const struct walks *walks)
{
    uint32_t used = WALKS_MAX;

    while (used > 0 && walks->count[used - 1] == 0)
        used--;
    wire_put_array(w, used);
    for (uint32_t i = 0; i < used; i++)
        wire_put_u64(w, walks->count[i]);
}

struct walks walks_get(struct wire_reader *r)
{
    struct walks walks = {0};
    uint32_t ends = wire_get_array(r, ENDS_MAX);

    for (uint32_t i = 0; i < ends; i++) {
        uint64_t samples = wire_get_u64(r);

        if (i < WALKS_MAX)
            walks.count[i] = samples;
        else if (samples > 0)
            wire_fail(r, ST_UNSUPPORTED);
    }
    return walks;
}
