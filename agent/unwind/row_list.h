/* row_list - a file's rows while they are being read: runs of rows, one for each function, in any
 * order; then one table, sorted, without overlaps and with gaps between functions marked. The
 * padding behind a function is none. Bounded. Pure. */
#ifndef AGENT_UNWIND_ROW_LIST_H
#define AGENT_UNWIND_ROW_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "common/status.h"

enum {
    ROW_LIST_ROWS_MAX = 1 << 22, /* 32 MiB: four times those of the largest library known */
    ROW_LIST_RUNS_MAX = 1 << 21, /* functions */
};

struct row_rule { /* of a row: all but its place */
    int16_t cfa;
    uint8_t kind; /* enum abi_row_kind */
    int8_t rbp;
};

struct row_run { /* one function's rows */
    uint64_t start, end;
    uint32_t first, count;
};

struct row_list { /* embedded; row_list_init and _deinit */
    uint64_t base, end; /* of the code: what lies outside is not taken */
    struct abi_row *rows;
    struct row_run *runs;
    uint32_t row_count, row_capacity, run_count, run_capacity;
    enum status status; /* the first failure: ST_NOMEM, ST_TOO_BIG */
};

void row_list_init(struct row_list *l, uint64_t base, uint64_t end); /* at most 4 GiB apart */
void row_list_deinit(struct row_list *l);

/* Begins a run; false: it is not within the code, and no rows can be put. */
bool row_list_begin(struct row_list *l, uint64_t start, uint64_t end);
/* The rule from `address` on, in the run begun last; addresses must ascend. A second rule for the
 * same place replaces the first. */
void row_list_put(struct row_list *l, uint64_t address, struct row_rule rule);

bool row_list_meets(const struct row_list *l, uint64_t start, uint64_t end); /* any run in it? */

/* Of runs that overlap, the one that starts first keeps its rows, or was begun first. The caller
 * frees *out_rows. ST_NOT_FOUND: no runs. */
enum status row_list_finish(struct row_list *l, struct abi_row **out_rows, uint32_t *out_count);

#endif
