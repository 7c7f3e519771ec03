/* naming - callers come before callees, so a context's frames are its caller's and its own. */
#include "coordinator/query/naming.h"

#include <stdlib.h>

static struct naming of_function(const struct function *f)
{
    bool is_frame = f->kind != FRAME_MARK;

    return (struct naming){.frames = is_frame, .named = is_frame && f->named};
}

enum status naming_measure(const struct profile *p, const struct stacks *k,
                           const struct symbolizer *s, struct naming *out)
{
    struct naming *of = calloc((size_t)k->count + 1, sizeof(*of)), sum = {0};

    if (of == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < k->count; i++) {
        if (!stacks_is_inlined(k, i))
            of[i] = of_function(symbolizer_get(s, k->function[i]));
        if (k->parent[i] != STACKS_NONE) {
            of[i].frames += of[k->parent[i]].frames;
            of[i].named += of[k->parent[i]].named;
        }
    }
    for (uint32_t i = 0; i < p->cell_count; i++) {
        sum.frames += p->cells[i].samples * of[k->of_cell[i]].frames;
        sum.named += p->cells[i].samples * of[k->of_cell[i]].named;
    }
    free(of);
    *out = sum;
    return ST_OK;
}

double naming_share(const struct naming *n)
{
    return n->frames > 0 ? (double)n->named / (double)n->frames : 1;
}
