/* export_collapsed - "root;caller;leaf WEIGHT_NS", as flamegraph.pl and speedscope read it: one
 * line for each path of names, sorted, so that two exports can be compared by line. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"
#include "coordinator/query/export_format.h"
#include "coordinator/query/flame.h"

struct line {
    size_t start; /* of its path in the text */
    double weight_ns;
};

struct lines { /* paths, each with its NUL, back to back */
    struct export_text text;
    struct line *items;
    uint32_t count, capacity;
};

static void put_name(FILE *out, const char *name)
{
    for (; *name != '\0'; name++)
        (void)fputc(*name == ';' ? ':' : (unsigned char)*name < ' ' ? ' ' : *name, out);
}

/* Recursion is as deep as a stack: CHUNK_DEPTH_MAX. */
static void put_path(FILE *out, const struct flame *f, const struct symbolizer *s, uint32_t node)
{
    if (f->parent[node] != 0) {
        put_path(out, f, s, f->parent[node]);
        (void)fputc(';', out);
    }
    put_name(out, symbolizer_get(s, f->function[node])->name);
}

static enum status write_lines(struct lines *l, const struct flame *f, const struct symbolizer *s)
{
    enum status st = ST_OK;

    for (uint32_t n = 1; n < f->node_count && st == ST_OK; n++) {
        if (f->self_a[n] <= 0)
            continue;
        st = array_reserve(&l->items, &l->capacity, l->count, sizeof(*l->items));
        if (st != ST_OK)
            break;
        l->items[l->count++] = (struct line){(size_t)ftello(l->text.file), f->self_a[n]};
        put_path(l->text.file, f, s, n);
        (void)fputc('\0', l->text.file);
        st = export_text_check(&l->text);
    }
    return st;
}

static int by_path(const void *a, const void *b, void *text)
{
    const struct line *x = a, *y = b;
    const char *paths = text;

    return strcmp(paths + x->start, paths + y->start);
}

/* Functions of one name in several binaries are one here. */
static void merge_lines(struct lines *l, const char *paths)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < l->count; i++) {
        if (count > 0 && strcmp(paths + l->items[count - 1].start, paths + l->items[i].start) == 0)
            l->items[count - 1].weight_ns += l->items[i].weight_ns;
        else
            l->items[count++] = l->items[i];
    }
    l->count = count;
}

static enum status print_lines(const struct lines *l, const char *paths, struct blob *out)
{
    struct export_text text;
    double carry = 0;
    enum status st = export_text_open(&text);

    if (st != ST_OK)
        return st;
    for (uint32_t i = 0; i < l->count && st == ST_OK; i++) {
        (void)fprintf(text.file, "%s %" PRIu64 "\n", paths + l->items[i].start,
                      export_round(&carry, l->items[i].weight_ns));
        st = export_text_check(&text);
    }
    return export_text_end(&text, st, out);
}

enum status export_collapsed(const struct profile *p, struct symbolizer *s,
                             const struct dictionary *d, struct blob *out)
{
    struct flame f = {0};
    struct lines l = {0};
    struct blob paths = {0};
    enum status st = flame_build(p, NULL, s, d, &f);

    if (st == ST_OK)
        st = export_text_open(&l.text);
    if (st != ST_OK)
        goto out;
    st = export_text_end(&l.text, write_lines(&l, &f, s), &paths);
    if (st != ST_OK)
        goto out;
    if (l.count > 0)
        qsort_r(l.items, l.count, sizeof(*l.items), by_path, paths.bytes);
    merge_lines(&l, (const char *)paths.bytes);
    st = print_lines(&l, (const char *)paths.bytes, out);
out:
    blob_deinit(&paths);
    free(l.items);
    flame_deinit(&f);
    return st;
}
