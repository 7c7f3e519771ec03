/* view_symbols - GET /symbols: the tables that there are, and the binaries that lack one. */
#include "coordinator/http/view_symbols.h"

#include "coordinator/http/params.h"
#include "coordinator/query/symbol_report.h"

const char *view_symbol_quality(enum symtab_grade g)
{
    switch (g) {
    case SYMTAB_GRADE_EXPORTS:
        return "exports";
    case SYMTAB_GRADE_FUNCTIONS:
        return "functions";
    case SYMTAB_GRADE_PLACES_CUT:
        return "lines, cut";
    case SYMTAB_GRADE_PLACES:
        return "lines";
    }
    return "unknown";
}

json_t *view_symbol_sources(uint32_t sources)
{
    static const struct {
        enum symtab_source bit;
        const char *name;
    } names[] = {
        {SYMTAB_FROM_DYNSYM, "dynsym"},       {SYMTAB_FROM_SYMTAB, "symtab"},
        {SYMTAB_FROM_DEBUGDATA, "debugdata"}, {SYMTAB_FROM_GOPCLNTAB, "gopclntab"},
        {SYMTAB_FROM_DWARF, "dwarf"},         {SYMTAB_FROM_DEBUG_FILE, "debug file"},
        {SYMTAB_FROM_KALLSYMS, "kallsyms"},
    };
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < sizeof(names) / sizeof(names[0]); i++)
        if ((sources & names[i].bit) != 0 &&
            json_array_append_new(list, json_string(names[i].name)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *view_build_id(const struct build_id *id)
{
    char text[BUILD_ID_TEXT_MAX];

    return json_string(build_id_format(id, text));
}

/* A table without a record is one from before there were any: an agent's. */
static json_t *view_table(const struct symbol_line *l)
{
    const struct symbol_record *r = &l->record;
    bool known = r->origin != SYMBOL_ORIGIN_NONE;

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "build_id",
                     view_build_id(&l->id), "path", json_text(l->path[0] != '\0' ? l->path : NULL),
                     "name", json_text(r->name[0] != '\0' ? r->name : NULL), "symbols",
                     known ? json_u64(r->symbols) : json_null(), "quality",
                     json_text(known ? view_symbol_quality(r->grade) : NULL), "sources",
                     view_symbol_sources(r->sources), "bytes", json_u64(l->bytes), "stored",
                     json_time(r->stored), "origin",
                     json_text(known ? symbol_origin_name(r->origin) : NULL), "from",
                     json_text(known ? r->from : NULL));
}

static json_t *view_missing(const struct symbol_line *l)
{
    return json_pack("{s:o, s:o}", "build_id", view_build_id(&l->id), "path", json_text(l->path));
}

static json_t *view_lines(const struct symbol_report *r, bool tables, uint32_t limit,
                          json_t *view(const struct symbol_line *l))
{
    json_t *list = json_array();

    for (uint32_t i = 0; list != NULL && i < r->line_count; i++) {
        if ((r->lines[i].bytes > 0) != tables || (limit > 0 && json_array_size(list) >= limit))
            continue;
        if (json_array_append_new(list, view(&r->lines[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static enum status work(struct question *q)
{
    struct symbol_report r = {0};
    enum status st = symbol_report(q->view, &r);

    if (st == ST_OK)
        st = question_answer_json(q, json_pack("{s:o, s:I, s:o, s:I}", "tables",
                                               view_lines(&r, true, q->limit, view_table),
                                               "tables_found", (json_int_t)r.table_count, "missing",
                                               view_lines(&r, false, q->limit, view_missing),
                                               "missing_found",
                                               (json_int_t)(r.line_count - r.table_count)));
    symbol_report_deinit(&r);
    return st;
}

void route_symbols(struct call *c)
{
    struct question *q = question_begin(c, work);

    if (q == NULL)
        return;
    q->wants_profiles = false;
    q->limit = 0;
    if (params_limit(c, &q->limit))
        question_ask(c, q);
    else
        question_free(q);
}
