/* flame - contexts of both profiles fall together where their functions do, level by level. */
#include "coordinator/query/flame.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"
#include "coordinator/query/keys.h"
#include "coordinator/query/stacks.h"

enum { SIDE_A, SIDE_B, SIDES };

struct grower { /* a tree in order of growth: parents before children */
    struct keys nodes; /* (parent, function); number + 1 is the node, 0 the root */
    double *self[SIDES]; /* by node */
    uint32_t capacity[SIDES];
    uint32_t count;
};

static void grower_deinit(struct grower *g)
{
    keys_deinit(&g->nodes);
    for (int i = 0; i < SIDES; i++)
        free(g->self[i]);
}

static enum status add_node(struct grower *g)
{
    for (int i = 0; i < SIDES; i++) {
        if (array_reserve(&g->self[i], &g->capacity[i], g->count, sizeof(*g->self[i])) != ST_OK)
            return ST_NOMEM;
        g->self[i][g->count] = 0;
    }
    g->count++;
    return ST_OK;
}

static enum status find_node(struct grower *g, uint32_t parent, uint32_t function, uint32_t *out)
{
    uint32_t number;
    enum status st = keys_put(&g->nodes, (struct key){.high = parent, .low = function}, &number);

    if (st == ST_OK && number + 1 == g->count)
        st = add_node(g);
    if (st == ST_OK)
        *out = number + 1;
    return st;
}

static enum status add_profile(struct grower *g, const struct profile *p, struct symbolizer *s,
                               const struct dictionary *d, int side)
{
    struct stacks k = {0};
    uint32_t *node = NULL; /* by context */
    enum status st = stacks_build(p, s, d, &k);

    if (st != ST_OK)
        return st;
    node = malloc(((size_t)k.count + 1) * sizeof(*node));
    if (node == NULL)
        st = ST_NOMEM;
    for (uint32_t i = 0; i < k.count && st == ST_OK; i++) {
        uint32_t parent = k.parent[i] == STACKS_NONE ? 0 : node[k.parent[i]];

        st = find_node(g, parent, k.function[i], &node[i]);
    }
    for (uint32_t i = 0; i < p->cell_count && st == ST_OK; i++)
        g->self[side][node[k.of_cell[i]]] += p->cells[i].weight_ns;
    free(node);
    stacks_deinit(&k);
    return st;
}

/* ---- the finished tree ---- */

struct sorting {
    const struct grower *grower;
    const struct symbolizer *symbolizer;
};

static uint32_t parent_of(const struct grower *g, uint32_t node)
{
    return (uint32_t)g->nodes.keys[node - 1].high;
}

static uint32_t function_of(const struct grower *g, uint32_t node)
{
    return (uint32_t)g->nodes.keys[node - 1].low;
}

static int by_parent_and_name(const void *a, const void *b, void *arg)
{
    const struct sorting *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t parent_x = parent_of(s->grower, x), parent_y = parent_of(s->grower, y);
    const struct function *f = symbolizer_get(s->symbolizer, function_of(s->grower, x));
    const struct function *g = symbolizer_get(s->symbolizer, function_of(s->grower, y));
    int order;

    if (parent_x != parent_y)
        return parent_x < parent_y ? -1 : 1;
    order = strcmp(f->name, g->name);
    if (order == 0)
        order = strcmp(f->binary, g->binary);
    return order != 0 ? order : (x > y) - (x < y);
}

struct order { /* nodes in depth-first order, siblings by name */
    uint32_t *children; /* all nodes but the root, by parent and name */
    uint32_t *first; /* in children, by node; one past the end too */
    uint32_t *waiting; /* nodes to visit, the next one last */
    uint32_t *place; /* by node: its number in the finished tree */
};

static void order_deinit(struct order *o)
{
    free(o->children);
    free(o->first);
    free(o->waiting);
    free(o->place);
}

static enum status order_init(struct order *o, const struct grower *g, const struct symbolizer *s)
{
    struct sorting sorting = {g, s};
    uint32_t children = g->count - 1;

    o->children = calloc(g->count, sizeof(*o->children));
    o->first = calloc((size_t)g->count + 1, sizeof(*o->first));
    o->waiting = calloc(g->count, sizeof(*o->waiting));
    o->place = calloc(g->count, sizeof(*o->place));
    if (o->children == NULL || o->first == NULL || o->waiting == NULL || o->place == NULL)
        return ST_NOMEM;
    for (uint32_t i = 0; i < children; i++) {
        o->children[i] = i + 1;
        o->first[parent_of(g, i + 1) + 1]++;
    }
    for (uint32_t i = 0; i < g->count; i++)
        o->first[i + 1] += o->first[i];
    qsort_r(o->children, children, sizeof(*o->children), by_parent_and_name, &sorting);
    return ST_OK;
}

static void fill_tree(const struct grower *g, struct order *o, struct flame *f)
{
    uint32_t waiting = 0;

    o->waiting[waiting++] = 0;
    for (uint32_t n = 0; n < f->node_count; n++) {
        uint32_t node = o->waiting[--waiting];

        o->place[node] = n;
        f->parent[n] = node == 0 ? 0 : o->place[parent_of(g, node)];
        f->function[n] = node == 0 ? UINT32_MAX : function_of(g, node);
        f->self_a[n] = f->total_a[n] = g->self[SIDE_A][node];
        if (f->self_b != NULL)
            f->self_b[n] = f->total_b[n] = g->self[SIDE_B][node];
        for (uint32_t i = o->first[node + 1]; i > o->first[node]; i--)
            o->waiting[waiting++] = o->children[i - 1];
    }
}

static void add_up(const uint32_t *parent, uint32_t count, double *total)
{
    for (uint32_t n = count; n-- > 1;)
        total[parent[n]] += total[n];
}

static enum status finish(const struct grower *g, const struct symbolizer *s, bool two_sides,
                          struct flame *f)
{
    struct order o = {0};
    enum status st = order_init(&o, g, s);

    if (st != ST_OK)
        goto out;
    f->node_count = g->count;
    f->parent = malloc(g->count * sizeof(*f->parent));
    f->function = malloc(g->count * sizeof(*f->function));
    f->self_a = malloc(g->count * sizeof(*f->self_a));
    f->total_a = malloc(g->count * sizeof(*f->total_a));
    f->self_b = two_sides ? malloc(g->count * sizeof(*f->self_b)) : NULL;
    f->total_b = two_sides ? malloc(g->count * sizeof(*f->total_b)) : NULL;
    if (f->parent == NULL || f->function == NULL || f->self_a == NULL || f->total_a == NULL ||
        (two_sides && (f->self_b == NULL || f->total_b == NULL))) {
        st = ST_NOMEM;
        goto out;
    }
    fill_tree(g, &o, f);
    add_up(f->parent, f->node_count, f->total_a);
    if (two_sides)
        add_up(f->parent, f->node_count, f->total_b);
out:
    order_deinit(&o);
    return st;
}

enum status flame_build(const struct profile *a, const struct profile *b, struct symbolizer *s,
                        const struct dictionary *d, struct flame *out)
{
    struct grower g = {0};
    struct flame f = {0};
    enum status st = add_node(&g); /* the root */

    if (st == ST_OK)
        st = add_profile(&g, a, s, d, SIDE_A);
    if (st == ST_OK && b != NULL)
        st = add_profile(&g, b, s, d, SIDE_B);
    if (st == ST_OK)
        st = finish(&g, s, b != NULL, &f);
    grower_deinit(&g);
    if (st == ST_OK)
        *out = f;
    else
        flame_deinit(&f);
    return st;
}

void flame_deinit(struct flame *f)
{
    free(f->parent);
    free(f->function);
    free(f->self_a);
    free(f->total_a);
    free(f->self_b);
    free(f->total_b);
    memset(f, 0, sizeof(*f));
}
