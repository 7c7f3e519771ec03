/* ledger_row - the packed form of a ledger row, and the keys of the day files' tables. */
#ifndef COORDINATOR_STORE_LEDGER_ROW_H
#define COORDINATOR_STORE_LEDGER_ROW_H

#include "coordinator/store/store.h"

enum {
    /* ledger_row.c lists the numbers of a row; causes to come have their room. */
    ROW_LOSSES = 16,
    ROW_NUMBERS = 16 + ROW_LOSSES + WALKS_MAX,
    ROW_BYTES_MAX = 8 * ROW_NUMBERS,
    ROW_KEY_BYTES = 8 + ID128_BYTES + 8, /* start, profiler, sequence: by time */
    SEQUENCE_KEY_BYTES = ID128_BYTES + 8, /* profiler, sequence */
    SEQUENCE_BLOCK = 1024, /* sequences to one claim: 2.8 hours at 10 s */
    CLAIM_KEY_BYTES = SEQUENCE_KEY_BYTES + 4, /* profiler, sequence / SEQUENCE_BLOCK, day */
};

/* Row of the catalog's table "days": this day's file may hold sequences of this block. It is put
 * with the chunk and committed before it, so it never claims too little. */
struct day_claim {
    struct id128 profiler;
    uint64_t block;
    uint32_t day;
};

struct ledger_row ledger_row_of(const struct chunk_info *info);
/* `batch` is the number of the batch that brings the row. Returns the bytes used: zeros at the end
 * are left out. */
size_t ledger_row_pack(const struct ledger_row *row, uint64_t batch, uint8_t out[ROW_BYTES_MAX]);
void ledger_row_key(const struct ledger_row *row, uint8_t out[ROW_KEY_BYTES]);
void ledger_sequence_key(struct id128 profiler, uint64_t sequence, uint8_t out[SEQUENCE_KEY_BYTES]);
/* Numbers that the value has not are zero; those past our own are a later build's and left alone.
 * ST_INVALID: the key is not of this size, or the value not of whole numbers. */
enum status ledger_row_unpack(struct slice key, struct slice value, struct ledger_row *out,
                              uint64_t *out_batch);
void day_claim_pack(const struct day_claim *c, uint8_t out[CLAIM_KEY_BYTES]);
enum status day_claim_unpack(struct slice key, struct day_claim *out);

#endif
