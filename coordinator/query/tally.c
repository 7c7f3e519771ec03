/* tally - cells ascend by replicate, so a row's weights are appended or added to its last one. */
#include "coordinator/query/tally.h"

#include <stdlib.h>
#include <string.h>

/* A profile in terms of the axes. */
struct view {
    struct axes *axes;
    const struct profile *profile;
    const struct stacks *stacks;
    uint32_t *code; /* by context */
    uint32_t *task; /* by task of the profile: number in axes.tasks */
    uint32_t *row; /* by code, where no dimension is a task; else NULL */
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

/* What is known of rows by now. */
static enum status fill_rows(struct view *v)
{
    const struct keys *rows = &v->axes->rows;

    if (axes_have_tasks(v->axes))
        return ST_OK;
    v->row = malloc(((size_t)v->code_count + 1) * sizeof(*v->row));
    if (v->row == NULL)
        return ST_NOMEM;
    memset(v->row, 0xff, ((size_t)v->code_count + 1) * sizeof(*v->row)); /* KEYS_NONE */
    for (uint32_t i = 0; i < rows->count; i++) {
        if (rows->keys[i].low < v->code_count)
            v->row[rows->keys[i].low] = i;
    }
    return ST_OK;
}

static void view_deinit(struct view *v)
{
    free(v->code);
    free(v->task);
    free(v->row);
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
    st = v->seen == NULL ? ST_NOMEM : fill_rows(v);
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

/* The row of a code and a task, KEYS_NONE when it has no number. Without tasks a table does what a
 * hash would. */
static uint32_t find_row(const struct view *v, uint32_t code, uint32_t task)
{
    return v->row != NULL ? v->row[code] : keys_find(&v->axes->rows, axes_row_key(code, task));
}

static enum status put_row(struct view *v, uint32_t code, uint32_t task, uint32_t *out)
{
    enum status st;

    *out = v->row != NULL ? v->row[code] : KEYS_NONE;
    if (*out != KEYS_NONE)
        return ST_OK;
    st = keys_put(&v->axes->rows, axes_row_key(code, task), out);
    if (st == ST_OK && v->row != NULL)
        v->row[code] = *out;
    return st;
}

/* ---- sums ---- */

/* Cells are walked twice: first to count the weights of every row, then to fill them in. */
struct filler {
    struct tally tally;
    uint32_t *last; /* by row: the replicate seen last */
    bool counting;
};

static enum status filler_init(struct filler *f, uint32_t row_count)
{
    *f = (struct filler){.counting = true};
    f->tally.rows = calloc((size_t)row_count + 1, sizeof(*f->tally.rows));
    f->last = malloc(((size_t)row_count + 1) * sizeof(*f->last));
    f->tally.count = row_count;
    if (f->tally.rows == NULL || f->last == NULL)
        return ST_NOMEM;
    memset(f->last, 0xff, row_count * sizeof(*f->last));
    return ST_OK;
}

/* Between the walks: gives every row its place in one array. */
static enum status filler_place(struct filler *f)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < f->tally.count; i++)
        sum += f->tally.rows[i].weight_count;
    f->tally.weights = malloc((sum + 1) * sizeof(*f->tally.weights));
    if (f->tally.weights == NULL)
        return ST_NOMEM;
    sum = 0;
    for (uint32_t i = 0; i < f->tally.count; i++) {
        f->tally.rows[i].weights = f->tally.weights + sum;
        sum += f->tally.rows[i].weight_count;
        f->tally.rows[i].weight_count = 0;
    }
    memset(f->last, 0xff, f->tally.count * sizeof(*f->last));
    f->counting = false;
    return ST_OK;
}

/* Replicates ascend from call to call. */
static void fill(struct filler *f, uint32_t row, const struct profile_cell *cell)
{
    struct row_sum *r = &f->tally.rows[row];
    bool same = f->last[row] == cell->replicate;

    f->last[row] = cell->replicate;
    r->weight_count += !same;
    if (f->counting)
        return;
    if (!same)
        r->weights[r->weight_count - 1] = (struct replicate_weight){.replicate = cell->replicate};
    r->weights[r->weight_count - 1].weight_ns += cell->weight_ns;
    r->samples += cell->samples;
    r->weight_ns += cell->weight_ns;
}

static enum status filler_finish(struct filler *f, enum status st, struct tally *out)
{
    free(f->last);
    if (st == ST_OK)
        *out = f->tally;
    else
        tally_deinit(&f->tally);
    return st;
}

/* ---- by the innermost frame ---- */

static enum status find_self_rows(struct view *v, uint32_t *row)
{
    const struct profile *p = v->profile;
    enum status st = ST_OK;

    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        st = put_row(v, v->code[v->stacks->of_cell[i]], v->task[p->cells[i].task], &row[i]);
    return st;
}

enum status tally_self(struct axes *x, const struct profile *p, const struct stacks *k,
                       struct tally *out)
{
    uint32_t *row = calloc((size_t)p->cell_count + 1, sizeof(*row));
    struct filler f = {0};
    struct view v;
    enum status st = row == NULL ? ST_NOMEM : view_init(&v, x, p, k);

    if (st != ST_OK) {
        free(row);
        return st;
    }
    st = find_self_rows(&v, row);
    view_deinit(&v);
    if (st == ST_OK)
        st = filler_init(&f, x->rows.count);
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        fill(&f, row[i], &p->cells[i]);
    if (st == ST_OK)
        st = filler_place(&f);
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        fill(&f, row[i], &p->cells[i]);
    free(row);
    return filler_finish(&f, st, out);
}

/* ---- by any frame ---- */

/* One row for each code on the stack with that task. */
static enum status number_stack(struct view *v, uint32_t context, uint32_t task)
{
    enum status st = ST_OK;
    uint32_t row;

    v->stack++;
    for (; context != STACKS_NONE && st == ST_OK; context = v->stacks->parent[context]) {
        if (first_on_stack(v, v->code[context]))
            st = put_row(v, v->code[context], task, &row);
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
            st = put_row(&v, v.code[i], 0, &row);
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

static void fill_stack(struct view *v, const uint32_t *link, const uint8_t *kept, uint32_t cell,
                       struct filler *f)
{
    const struct stacks *k = v->stacks;
    const struct profile_cell *c = &v->profile->cells[cell];
    uint32_t at = link[k->of_cell[cell]];

    v->stack++;
    while (at != STACKS_NONE) {
        uint32_t code = v->code[at], row = KEYS_NONE;

        if (first_on_stack(v, code))
            row = find_row(v, code, v->task[c->task]);
        if (row != KEYS_NONE && kept[row])
            fill(f, row, c);
        at = k->parent[at] == STACKS_NONE ? STACKS_NONE : link[k->parent[at]];
    }
}

enum status tally_total(struct axes *x, const struct profile *p, const struct stacks *k,
                        const uint8_t *kept, struct tally *out)
{
    struct filler f = {0};
    uint32_t *link = NULL;
    struct view v;
    enum status st = view_init(&v, x, p, k);

    if (st != ST_OK)
        return st;
    link = link_kept(&v, kept);
    st = link == NULL ? ST_NOMEM : filler_init(&f, x->rows.count);
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        fill_stack(&v, link, kept, i, &f);
    if (st == ST_OK)
        st = filler_place(&f);
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        fill_stack(&v, link, kept, i, &f);
    free(link);
    view_deinit(&v);
    return filler_finish(&f, st, out);
}

const struct row_sum *tally_row(const struct tally *t, uint32_t row)
{
    static const struct row_sum empty;

    return row < t->count ? &t->rows[row] : &empty;
}

void tally_deinit(struct tally *t)
{
    free(t->rows);
    free(t->weights);
    memset(t, 0, sizeof(*t));
}
