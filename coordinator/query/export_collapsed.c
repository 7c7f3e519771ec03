/* export_collapsed - one line for each path of functions, as flamegraph.pl and speedscope read it:
 * "root;caller;leaf WEIGHT_NS". */
#include <inttypes.h>
#include <stdlib.h>

#include "coordinator/query/array.h"
#include "coordinator/query/export_format.h"
#include "coordinator/query/flame.h"

struct path { /* nodes from a leaf outwards */
    uint32_t *nodes;
    uint32_t count, capacity;
};

static enum status follow(const struct flame *f, uint32_t node, struct path *path)
{
    path->count = 0;
    for (; node != 0; node = f->parent[node]) {
        if (array_reserve(&path->nodes, &path->capacity, path->count, sizeof(*path->nodes)) !=
            ST_OK)
            return ST_NOMEM;
        path->nodes[path->count++] = node;
    }
    return ST_OK;
}

/* Names hold no control characters; the separator is the one character to keep out. */
static void put_name(FILE *out, const char *name)
{
    for (; *name != '\0'; name++)
        (void)fputc(*name == ';' ? ':' : *name, out);
}

static void put_line(FILE *out, const struct flame *f, const struct symbolizer *s,
                     const struct path *path, uint64_t weight_ns)
{
    for (uint32_t i = path->count; i > 0; i--) {
        put_name(out, symbolizer_get(s, f->function[path->nodes[i - 1]])->name);
        (void)fputc(i > 1 ? ';' : ' ', out);
    }
    (void)fprintf(out, "%" PRIu64 "\n", weight_ns);
}

enum status export_collapsed(const struct profile *p, struct symbolizer *s,
                             const struct dictionary *d, struct blob *out)
{
    struct flame f = {0};
    struct path path = {0};
    struct export_text text;
    double carry = 0;
    enum status st = flame_build(p, NULL, s, d, &f);

    if (st == ST_OK)
        st = export_text_open(&text);
    if (st != ST_OK)
        goto out;
    for (uint32_t n = 1; n < f.node_count && st == ST_OK; n++) {
        if (f.self_a[n] <= 0)
            continue;
        st = follow(&f, n, &path);
        if (st == ST_OK)
            put_line(text.file, &f, s, &path, export_round(&carry, f.self_a[n]));
    }
    if (st == ST_OK)
        st = export_text_close(&text, out);
    else
        export_text_drop(&text);
out:
    free(path.nodes);
    flame_deinit(&f);
    return st;
}
