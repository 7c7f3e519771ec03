/* What a chunk's info means, and freeing one. chunk_encode.c and chunk_decode.c have the bytes,
 * chunk_check.c the rules. */
#include "common/chunk.h"

#include <stdlib.h>

/* Saturating: a host's clock may be anything. */
static struct wall shift(struct wall t, int64_t ns)
{
    uint64_t distance = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;

    if (ns < 0)
        return (struct wall){t.ns > distance ? t.ns - distance : 0};
    return (struct wall){t.ns < UINT64_MAX - distance ? t.ns + distance : UINT64_MAX};
}

struct wall chunk_wall_start(const struct chunk_info *info)
{
    return shift(info->wall_start, info->clock_offset_ns);
}

struct wall chunk_wall_end(const struct chunk_info *info)
{
    struct wall start = chunk_wall_start(info);

    return (struct wall){start.ns + mono_since(info->end, info->start)};
}

double chunk_sample_weight(const struct chunk_info *info)
{
    double weight = (double)info->period_ns / info->inclusion;
    double delivered = (double)info->ledger.delivered;

    if (info->ledger.delivered == 0)
        return weight; /* of no sample */
    return weight * (delivered + (double)ledger_lost(&info->ledger)) / delivered;
}

enum status chunk_epitaph(struct slice bytes, struct blob *out)
{
    struct chunk c = {0};
    enum status st = chunk_decode_info(bytes, &c.info);

    if (st != ST_OK)
        return st;
    c.info.ledger.lost[LOSS_SPOOL] += c.info.ledger.delivered; /* the balance says that it fits */
    c.info.ledger.delivered = 0;
    c.info.walks = (struct walks){0};
    return chunk_encode(&c, CHUNK_WIRE, out);
}

void chunk_deinit(struct chunk *c)
{
    free(c->dictionary.strings);
    free(c->dictionary.binaries);
    free(c->dictionary.frames);
    free(c->dictionary.nodes);
    free(c->dictionary.text);
    free(c->samples.labels);
    free(c->samples.processes);
    free(c->samples.threads);
    free(c->samples.groups);
    free(c->samples.ticks);
    *c = (struct chunk){0};
}
