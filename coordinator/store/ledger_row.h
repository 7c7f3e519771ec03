/* ledger_row - the packed form of a ledger row, and the keys of the day files' tables. */
#ifndef COORDINATOR_STORE_LEDGER_ROW_H
#define COORDINATOR_STORE_LEDGER_ROW_H

#include "coordinator/store/store.h"

enum {
    ROW_NUMBERS = 15 + LOSS_KINDS, /* ledger_row.c lists them */
    ROW_BYTES = 8 * ROW_NUMBERS,
    ROW_KEY_BYTES = 8 + ID128_BYTES + 8, /* start, profiler, sequence: by time */
    SEQUENCE_KEY_BYTES = ID128_BYTES + 8, /* profiler, sequence */
};

struct ledger_row ledger_row_of(const struct chunk_info *info);
void ledger_row_pack(const struct ledger_row *row, uint8_t out[ROW_BYTES]);
void ledger_row_key(const struct ledger_row *row, uint8_t out[ROW_KEY_BYTES]);
void ledger_sequence_key(struct id128 profiler, uint64_t sequence, uint8_t out[SEQUENCE_KEY_BYTES]);
/* ST_INVALID: not of these sizes. */
enum status ledger_row_unpack(struct slice key, struct slice value, struct ledger_row *out);

#endif
