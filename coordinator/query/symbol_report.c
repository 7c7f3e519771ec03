/* symbol_report - binaries of the dictionary in order of their ids meet the store's tables, which
 * are in that order, too. */
#include "coordinator/query/symbol_report.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/array.h"

struct builder {
    struct store_view *view;
    struct symbol_report report;
    uint32_t capacity;
    uint32_t binaries; /* the first lines, by id: those of the dictionary */
    uint32_t next; /* of those: the first that no table was yet compared with */
};

static int compare_ids(const struct build_id *a, const struct build_id *b)
{
    size_t shorter = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->bytes, b->bytes, shorter);

    return order != 0 ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_id(const void *a, const void *b)
{
    const struct symbol_line *x = a, *y = b;
    int order = compare_ids(&x->id, &y->id);

    return order != 0 ? order : strcmp(x->path, y->path);
}

static int by_path(const void *a, const void *b)
{
    const struct symbol_line *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order != 0 ? order : compare_ids(&x->id, &y->id);
}

static enum status add_line(struct builder *b, const struct symbol_line *line)
{
    struct symbol_report *r = &b->report;
    enum status st = array_reserve(&r->lines, &b->capacity, r->line_count, sizeof(*r->lines));

    if (st == ST_OK)
        r->lines[r->line_count++] = *line;
    return st;
}

/* One build id may have been seen under several paths; one of them will do. */
static enum status add_binaries(struct builder *b)
{
    const struct dictionary *d = store_view_dictionary(b->view);
    struct symbol_report *r = &b->report;
    const struct chunk_binary *binary;
    enum status st = ST_OK;
    uint32_t kept = 0;

    for (uint32_t i = 0; (binary = dictionary_binary(d, i)) != NULL && st == ST_OK; i++) {
        const struct symbol_line line = {.id = binary->id,
                                         .path = dictionary_string(d, binary->path)};

        if (binary->id.length > 0)
            st = add_line(b, &line);
    }
    if (st != ST_OK || r->line_count == 0)
        return st;
    qsort(r->lines, r->line_count, sizeof(*r->lines), by_id);
    for (uint32_t i = 0; i < r->line_count; i++)
        if (kept == 0 || !build_id_equal(&r->lines[i].id, &r->lines[kept - 1].id))
            r->lines[kept++] = r->lines[i];
    r->line_count = b->binaries = kept;
    return ST_OK;
}

static void fill_table(struct builder *b, struct symbol_line *line, size_t bytes)
{
    struct slice record;

    line->bytes = bytes;
    b->report.table_count++;
    if (store_view_get(b->view, STORE_SYMBOL_RECORDS,
                       (struct slice){line->id.bytes, line->id.length}, &record) == ST_OK)
        (void)symbol_record_decode(record, &line->record); /* a damaged one is none */
}

static enum status on_table(void *arg, struct slice key, struct slice value)
{
    struct builder *b = arg;
    struct symbol_line line = {.path = ""}, *lines = b->report.lines;

    if (build_id_from_bytes(key.bytes, key.length, &line.id) != ST_OK)
        return ST_OK;
    while (b->next < b->binaries && compare_ids(&lines[b->next].id, &line.id) < 0)
        b->next++;
    if (b->next < b->binaries && build_id_equal(&lines[b->next].id, &line.id)) {
        fill_table(b, &lines[b->next], value.length);
        return ST_OK;
    }
    fill_table(b, &line, value.length);
    return add_line(b, &line);
}

enum status symbol_report(struct store_view *v, struct symbol_report *out)
{
    struct builder b = {.view = v};
    enum status st = add_binaries(&b);

    if (st == ST_OK)
        st = store_view_each(v, STORE_SYMBOLS, on_table, &b);
    if (st != ST_OK) {
        symbol_report_deinit(&b.report);
        return st;
    }
    if (b.report.line_count > 0)
        qsort(b.report.lines, b.report.line_count, sizeof(*b.report.lines), by_path);
    *out = b.report;
    return ST_OK;
}

void symbol_report_deinit(struct symbol_report *r)
{
    free(r->lines);
    *r = (struct symbol_report){0};
}
