/* tally - cells ascend by replicate, so a row's weights are appended to or added to their last one;
 * nothing is hashed but the row itself. */
#include "coordinator/query/tally.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"

/* A profile in terms of the axes. */
struct view {
    struct axes *axes;
    const struct profile *profile;
    const struct stacks *stacks;
    uint32_t *code; /* by context */
    uint32_t *task; /* by task of the profile: number in axes.tasks */
    uint32_t *seen; /* by code: the stack that had it last; for recursion */
    uint32_t code_count;
    uint32_t stack; /* the one at hand; from 1 */
};

/* ---- codes and tasks ---- */

static enum status fill_codes(struct view *v)
{
    uint32_t count = symbolizer_count(v->axes->symbolizer);
    uint32_t *of_function = malloc(((size_t)count + 1) * sizeof(*of_function));
    enum status st = of_function == NULL ? ST_NOMEM : ST_OK;

    for (uint32_t i = 0; i < count && st == ST_OK; i++)
        st = axes_code(v->axes, i, &of_function[i]);
    for (uint32_t i = 0; i < v->stacks->count && st == ST_OK; i++) {
        v->code[i] = of_function[v->stacks->function[i]];
        if (v->code[i] >= v->code_count)
            v->code_count = v->code[i] + 1;
    }
    free(of_function);
    return st;
}

static void view_deinit(struct view *v)
{
    free(v->code);
    free(v->task);
    free(v->seen);
}

static enum status view_init(struct view *v, struct axes *x, const struct profile *p,
                             const struct stacks *k)
{
    enum status st = ST_NOMEM;

    *v = (struct view){.axes = x, .profile = p, .stacks = k};
    v->code = malloc(((size_t)k->count + 1) * sizeof(*v->code));
    v->task = malloc(((size_t)p->task_count + 1) * sizeof(*v->task));
    if (v->code == NULL || v->task == NULL)
        goto out;
    st = fill_codes(v);
    for (uint32_t i = 0; i < p->task_count && st == ST_OK; i++)
        st = axes_task(x, p, &p->tasks[i], &v->task[i]);
    if (st != ST_OK)
        goto out;
    v->seen = calloc((size_t)v->code_count + 1, sizeof(*v->seen));
    st = v->seen == NULL ? ST_NOMEM : ST_OK;
out:
    if (st != ST_OK)
        view_deinit(v);
    return st;
}

/* True the first time that a code is met on the stack at hand. */
static bool first_on_stack(struct view *v, uint32_t code)
{
    bool first = v->seen[code] != v->stack;

    v->seen[code] = v->stack;
    return first;
}

/* ---- sums ---- */

static enum status add(struct tally *t, uint32_t row, const struct profile_cell *cell)
{
    struct row_sum *r;

    while (row >= t->count) {
        if (array_reserve(&t->rows, &t->capacity, t->count, sizeof(*t->rows)) != ST_OK)
            return ST_NOMEM;
        t->rows[t->count++] = (struct row_sum){0};
    }
    r = &t->rows[row];
    r->samples += cell->samples;
    r->weight_ns += cell->weight_ns;
    if (r->weight_count > 0 && r->weights[r->weight_count - 1].replicate == cell->replicate) {
        r->weights[r->weight_count - 1].weight_ns += cell->weight_ns;
        return ST_OK;
    }
    if (array_reserve(&r->weights, &r->weight_capacity, r->weight_count, sizeof(*r->weights)) !=
        ST_OK)
        return ST_NOMEM;
    r->weights[r->weight_count++] =
        (struct replicate_weight){.replicate = cell->replicate, .weight_ns = cell->weight_ns};
    return ST_OK;
}

enum status tally_self(struct axes *x, const struct profile *p, const struct stacks *k,
                       struct tally *out)
{
    struct tally t = {0};
    struct view v;
    enum status st = view_init(&v, x, p, k);

    if (st != ST_OK)
        return st;
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++) {
        uint32_t row;

        st =
            keys_put(&x->rows, axes_row_key(v.code[k->of_cell[i]], v.task[p->cells[i].task]), &row);
        if (st == ST_OK)
            st = add(&t, row, &p->cells[i]);
    }
    view_deinit(&v);
    if (st == ST_OK)
        *out = t;
    else
        tally_deinit(&t);
    return st;
}

/* One row for each code on the stack with that task. */
static enum status number_stack(struct view *v, uint32_t context, uint32_t task)
{
    enum status st = ST_OK;
    uint32_t row;

    v->stack++;
    for (; context != STACKS_NONE && st == ST_OK; context = v->stacks->parent[context]) {
        if (first_on_stack(v, v->code[context]))
            st = keys_put(&v->axes->rows, axes_row_key(v->code[context], task), &row);
    }
    return st;
}

enum status tally_number_rows(struct axes *x, const struct profile *p, const struct stacks *k)
{
    struct keys done = {0}; /* (context, task) */
    struct view v;
    uint32_t number, row;
    enum status st = view_init(&v, x, p, k);

    if (st != ST_OK)
        return st;
    if (!axes_have_tasks(x)) {
        for (uint32_t i = 0; i < k->count && st == ST_OK; i++)
            st = keys_put(&x->rows, axes_row_key(v.code[i], 0), &row);
        goto out;
    }
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++) {
        uint32_t before = done.count, task = v.task[p->cells[i].task];

        st = keys_put(&done, (struct key){.high = k->of_cell[i], .low = task}, &number);
        if (st == ST_OK && number == before)
            st = number_stack(&v, k->of_cell[i], task);
    }
out:
    keys_deinit(&done);
    view_deinit(&v);
    return st;
}

/* For every context the nearest one, itself or outwards, whose code is in a kept row. */
static uint32_t *link_kept(const struct view *v, const uint8_t *kept)
{
    const struct axes *x = v->axes;
    const struct stacks *k = v->stacks;
    uint32_t *link = malloc(((size_t)k->count + 1) * sizeof(*link));
    uint8_t *code_kept = calloc((size_t)v->code_count + 1, sizeof(*code_kept));

    if (link == NULL || code_kept == NULL) {
        free(link);
        free(code_kept);
        return NULL;
    }
    for (uint32_t i = 0; i < x->rows.count; i++) {
        uint32_t code = (uint32_t)x->rows.keys[i].low;

        if (kept[i] && code < v->code_count)
            code_kept[code] = 1;
    }
    for (uint32_t i = 0; i < k->count; i++) {
        bool has_parent = k->parent[i] != STACKS_NONE;

        link[i] = code_kept[v->code[i]] ? i : has_parent ? link[k->parent[i]] : STACKS_NONE;
    }
    free(code_kept);
    return link;
}

static enum status add_stack(struct view *v, const uint32_t *link, const uint8_t *kept,
                             uint32_t cell, struct tally *t)
{
    const struct stacks *k = v->stacks;
    const struct profile_cell *c = &v->profile->cells[cell];
    enum status st = ST_OK;
    uint32_t at = link[k->of_cell[cell]];

    v->stack++;
    while (at != STACKS_NONE && st == ST_OK) {
        uint32_t code = v->code[at], row = KEYS_NONE;

        if (first_on_stack(v, code))
            row = keys_find(&v->axes->rows, axes_row_key(code, v->task[c->task]));
        if (row != KEYS_NONE && kept[row])
            st = add(t, row, c);
        at = k->parent[at] == STACKS_NONE ? STACKS_NONE : link[k->parent[at]];
    }
    return st;
}

enum status tally_total(struct axes *x, const struct profile *p, const struct stacks *k,
                        const uint8_t *kept, struct tally *out)
{
    struct tally t = {0};
    uint32_t *link = NULL;
    struct view v;
    enum status st = view_init(&v, x, p, k);

    if (st != ST_OK)
        return st;
    link = link_kept(&v, kept);
    if (link == NULL)
        st = ST_NOMEM;
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        st = add_stack(&v, link, kept, i, &t);
    free(link);
    view_deinit(&v);
    if (st == ST_OK)
        *out = t;
    else
        tally_deinit(&t);
    return st;
}

const struct row_sum *tally_row(const struct tally *t, uint32_t row)
{
    static const struct row_sum empty;

    return row < t->count ? &t->rows[row] : &empty;
}

void tally_deinit(struct tally *t)
{
    for (uint32_t i = 0; i < t->count; i++)
        free(t->rows[i].weights);
    free(t->rows);
    memset(t, 0, sizeof(*t));
}
