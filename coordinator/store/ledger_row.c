/* A row is a run of 8-byte big-endian numbers; start, profiler and sequence are its key. Later
 * builds append numbers: rows that are shorter have zeros there. */
#include "coordinator/store/ledger_row.h"

#include <string.h>

#include "coordinator/store/bytes.h"

struct ledger_row ledger_row_of(const struct chunk_info *info)
{
    return (struct ledger_row){
        .profiler = info->profiler,
        .sequence = info->sequence,
        .start = chunk_wall_start(info),
        .end = chunk_wall_end(info),
        .period_ns = info->period_ns,
        .cpus = info->cpus,
        .final = info->final,
        .ledger = info->ledger,
        .cost = info->cost,
        .walks = info->walks,
    };
}

void ledger_row_key(const struct ledger_row *row, uint8_t out[ROW_KEY_BYTES])
{
    put_be(out, row->start.ns, 8);
    ledger_sequence_key(row->profiler, row->sequence, out + 8);
}

void ledger_sequence_key(struct id128 profiler, uint64_t sequence, uint8_t out[SEQUENCE_KEY_BYTES])
{
    memcpy(out, profiler.bytes, ID128_BYTES);
    put_be(out + ID128_BYTES, sequence, 8);
}

/* The numbers of a row in their order, as places to read or write; `unused` for those without a
 * meaning yet. */
static void list_numbers(struct ledger_row *r, uint64_t *batch, uint64_t *flags, uint64_t *cpus,
                         uint64_t *unused, uint64_t *out[ROW_NUMBERS])
{
    uint64_t *const fixed[] = {
        batch,
        &r->end.ns,
        &r->period_ns,
        cpus,
        flags,
        &r->ledger.expected,
        &r->ledger.delivered,
        &r->ledger.idle,
        &r->ledger.skipped,
        &r->cost.user_ns,
        &r->cost.system_ns,
        &r->cost.bpf_ns,
        &r->cost.bpf_runs,
        &r->cost.bytes_sent,
        &r->cost.rss_bytes,
        &r->cost.kernel_map_bytes,
    };
    size_t count = sizeof(fixed) / sizeof(fixed[0]);

    _Static_assert(sizeof(fixed) / sizeof(fixed[0]) + ROW_LOSSES + WALKS_MAX == ROW_NUMBERS,
                   "every number has its place");
    _Static_assert((int)LOSS_KINDS <= (int)ROW_LOSSES, "every cause has its place");
    memcpy(out, fixed, sizeof(fixed));
    for (int i = 0; i < ROW_LOSSES; i++)
        out[count++] = i < LOSS_KINDS ? &r->ledger.lost[i] : unused;
    for (int i = 0; i < WALKS_MAX; i++)
        out[count++] = &r->walks.count[i];
}

size_t ledger_row_pack(const struct ledger_row *row, uint64_t batch, uint8_t out[ROW_BYTES_MAX])
{
    struct ledger_row copy = *row;
    uint64_t flags = row->final ? 1 : 0, cpus = row->cpus, unused = 0, *numbers[ROW_NUMBERS];
    size_t used = ROW_NUMBERS;

    list_numbers(&copy, &batch, &flags, &cpus, &unused, numbers);
    while (used > 0 && *numbers[used - 1] == 0)
        used--;
    for (size_t i = 0; i < used; i++)
        put_be(out + 8 * i, *numbers[i], 8);
    return 8 * used;
}

enum status ledger_row_unpack(struct slice key, struct slice value, struct ledger_row *out,
                              uint64_t *out_batch)
{
    struct ledger_row row = {0};
    uint64_t batch = 0, flags = 0, cpus = 0, unused, *numbers[ROW_NUMBERS];

    if (key.length != ROW_KEY_BYTES || value.length % 8 != 0)
        return ST_INVALID;
    row.start.ns = get_be(key.bytes, 8);
    memcpy(row.profiler.bytes, key.bytes + 8, ID128_BYTES);
    row.sequence = get_be(key.bytes + 8 + ID128_BYTES, 8);
    list_numbers(&row, &batch, &flags, &cpus, &unused, numbers);
    for (size_t i = 0; i < ROW_NUMBERS && i < value.length / 8; i++)
        *numbers[i] = get_be(value.bytes + 8 * i, 8);
    row.final = (flags & 1) != 0;
    row.cpus = (uint32_t)cpus;
    *out = row;
    *out_batch = batch;
    return ST_OK;
}

void day_claim_pack(const struct day_claim *c, uint8_t out[CLAIM_KEY_BYTES])
{
    ledger_sequence_key(c->profiler, c->block, out);
    put_be(out + SEQUENCE_KEY_BYTES, c->day, 4);
}

enum status day_claim_unpack(struct slice key, struct day_claim *out)
{
    if (key.length != CLAIM_KEY_BYTES)
        return ST_INVALID;
    memcpy(out->profiler.bytes, key.bytes, ID128_BYTES);
    out->block = get_be(key.bytes + ID128_BYTES, 8);
    out->day = (uint32_t)get_be(key.bytes + SEQUENCE_KEY_BYTES, 4);
    return ST_OK;
}
