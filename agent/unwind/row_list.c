#include "agent/unwind/row_list.h"

#include <stdlib.h>

enum {
    FIRST_CAPACITY = 1024,
    PADDING_BYTES = 15, /* up to the next function's alignment: no code, so no gap. One row in ten
                           would say so. */
};

void row_list_init(struct row_list *l, uint64_t base, uint64_t end)
{
    *l = (struct row_list){.base = base, .end = end};
    if (end - base > UINT32_MAX)
        l->end = base + UINT32_MAX;
}

void row_list_deinit(struct row_list *l)
{
    free(l->rows);
    free(l->runs);
    *l = (struct row_list){0};
}

static void *grow(void *items, uint32_t *capacity, size_t item_bytes)
{
    uint32_t more = *capacity == 0 ? FIRST_CAPACITY : 2 * *capacity;
    void *grown = realloc(items, more * item_bytes);

    if (grown != NULL)
        *capacity = more;
    return grown;
}

static bool reserve_row(struct row_list *l)
{
    struct abi_row *rows;

    if (l->row_count < l->row_capacity)
        return true;
    if (l->row_count >= ROW_LIST_ROWS_MAX) {
        l->status = ST_TOO_BIG;
        return false;
    }
    rows = grow(l->rows, &l->row_capacity, sizeof(*rows));
    if (rows == NULL) {
        l->status = ST_NOMEM;
        return false;
    }
    l->rows = rows;
    return true;
}

static bool reserve_run(struct row_list *l)
{
    struct row_run *runs;

    if (l->run_count < l->run_capacity)
        return true;
    if (l->run_count >= ROW_LIST_RUNS_MAX) {
        l->status = ST_TOO_BIG;
        return false;
    }
    runs = grow(l->runs, &l->run_capacity, sizeof(*runs));
    if (runs == NULL) {
        l->status = ST_NOMEM;
        return false;
    }
    l->runs = runs;
    return true;
}

bool row_list_begin(struct row_list *l, uint64_t start, uint64_t end)
{
    if (l->status != ST_OK || start < l->base || end > l->end || end <= start || !reserve_run(l))
        return false;
    l->runs[l->run_count++] = (struct row_run){start, end, l->row_count, 0};
    return true;
}

static bool same_rule(const struct abi_row *a, const struct abi_row *b)
{
    return a->kind == b->kind && a->cfa == b->cfa && a->rbp == b->rbp;
}

void row_list_put(struct row_list *l, uint64_t address, struct row_rule rule)
{
    struct row_run *run = &l->runs[l->run_count - 1];
    struct abi_row row = {(uint32_t)(address - l->base), rule.cfa, rule.kind, rule.rbp};

    if (l->status != ST_OK || address < run->start || address >= run->end)
        return;
    if (run->count > 0 && l->rows[l->row_count - 1].pc == row.pc) {
        l->row_count--;
        run->count--;
    }
    if (run->count > 0 && same_rule(&l->rows[l->row_count - 1], &row))
        return;
    if (!reserve_row(l))
        return;
    l->rows[l->row_count++] = row;
    run->count++;
}

bool row_list_meets(const struct row_list *l, uint64_t start, uint64_t end)
{
    for (uint32_t i = 0; i < l->run_count; i++)
        if (l->runs[i].start < end && l->runs[i].end > start)
            return true;
    return false;
}

/* ---- from runs to one table ---- */

static int by_start(const void *left, const void *right)
{
    const struct row_run *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

struct table {
    struct abi_row *rows;
    uint32_t count;
};

static void append(struct table *t, struct abi_row row)
{
    if (t->count > 0 && t->rows[t->count - 1].pc == row.pc)
        t->count--; /* a function of no bytes that are its own, or a gap of none */
    if (t->count > 0 && same_rule(&t->rows[t->count - 1], &row))
        return;
    t->rows[t->count++] = row;
}

/* The part of a run from `from` on; its last row before that stays in force there. */
static void append_run(struct table *t, const struct row_list *l, const struct row_run *run,
                       uint32_t from)
{
    for (uint32_t i = run->first; i < run->first + run->count; i++) {
        struct abi_row row = l->rows[i];
        bool last = i + 1 == run->first + run->count;

        if (!last && l->rows[i + 1].pc <= from)
            continue;
        if (row.pc < from)
            row.pc = from;
        append(t, row);
    }
}

static void append_gap(struct table *t, uint32_t pc)
{
    append(t, (struct abi_row){pc, 0, ABI_ROW_GAP, 0});
}

enum status row_list_finish(struct row_list *l, struct abi_row **out_rows, uint32_t *out_count)
{
    struct table t = {0};
    uint64_t at = l->base; /* all before it is done */

    if (l->status != ST_OK)
        return l->status;
    if (l->row_count == 0)
        return ST_NOT_FOUND;
    t.rows = malloc(((size_t)l->row_count + l->run_count + 1) * sizeof(*t.rows));
    if (t.rows == NULL)
        return ST_NOMEM;
    qsort(l->runs, l->run_count, sizeof(*l->runs), by_start);
    for (uint32_t i = 0; i < l->run_count; i++) {
        const struct row_run *run = &l->runs[i];

        if (run->end <= at || run->count == 0)
            continue;
        if (run->start > at + (t.count > 0 ? PADDING_BYTES : 0))
            append_gap(&t, (uint32_t)(at - l->base));
        append_run(&t, l, run, (uint32_t)((run->start > at ? run->start : at) - l->base));
        at = run->end;
    }
    append_gap(&t, (uint32_t)(at - l->base));
    *out_rows = t.rows;
    *out_count = t.count;
    return ST_OK;
}
