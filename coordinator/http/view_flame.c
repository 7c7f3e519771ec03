/* view_flame - /flame: the merged call tree in columns, as JSON or as a page that holds it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/http/params.h"
#include "coordinator/query/flame.h"
#include "coordinator/web/web.h"

/* The columns are written as text at once: a big fleet has millions of numbers, and a JSON value of
 * each would take 24 bytes and an allocation. */

static const char *kind_name(enum frame_kind k)
{
    switch (k) {
    case FRAME_NATIVE:
        return "native";
    case FRAME_KERNEL:
        return "kernel";
    case FRAME_NAMED:
        return "named";
    case FRAME_MARK:
        return "mark";
    }
    return "named";
}

static void put_value(FILE *f, json_t *value)
{
    if (value == NULL || json_dumpf(value, f, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        (void)fputs("null", f); /* only when memory is short, and then the stream fails, too */
    json_decref(value);
}

static void put_functions(FILE *f, const char *column, const struct symbolizer *s,
                          json_t *(*value)(const struct function *))
{
    (void)fprintf(f, ",\"%s\":[", column);
    for (uint32_t i = 0; i < symbolizer_count(s); i++) {
        if (i > 0)
            (void)fputc(',', f);
        put_value(f, value(symbolizer_get(s, i)));
    }
    (void)fputc(']', f);
}

static json_t *name_of(const struct function *f)
{
    return json_text(f->name);
}

static json_t *binary_of(const struct function *f)
{
    return json_text(f->binary);
}

static json_t *file_of(const struct function *f)
{
    return json_text(f->file);
}

static json_t *kind_of(const struct function *f)
{
    return json_string(kind_name(f->kind));
}

/* `none` is written as -1. */
static void put_indexes(FILE *f, const char *column, const uint32_t *values, uint32_t count)
{
    (void)fprintf(f, ",\"%s\":[", column);
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(f, "%s%" PRId64, i > 0 ? "," : "",
                      values[i] == UINT32_MAX ? INT64_C(-1) : (int64_t)values[i]);
    (void)fputc(']', f);
}

static void put_weights(FILE *f, const char *column, const double *ns, uint32_t count)
{
    if (ns == NULL)
        return;
    (void)fprintf(f, ",\"%s\":[", column);
    for (uint32_t i = 0; i < count; i++)
        (void)fprintf(f, "%s%.0f", i > 0 ? "," : "", isfinite(ns[i]) ? ns[i] : 0);
    (void)fputc(']', f);
}

static json_t *title_of(const struct question *q)
{
    char title[2 * sizeof(q->sides[0].text) + sizeof(" against ")];

    if (q->side_count == 1)
        return json_text(q->sides[0].text);
    (void)snprintf(title, sizeof(title), "%s against %s", q->sides[1].text, q->sides[0].text);
    return json_text(title);
}

static void put_side(FILE *f, const char *suffix, const struct profile *p)
{
    (void)fprintf(f, ",\"window%s_ns\":%.0f,\"coverage%s\":", suffix,
                  isfinite(p->window_ns) ? p->window_ns : 0, suffix);
    put_value(f, json_coverage(&p->coverage));
}

static void put_flame(FILE *f, const struct question *q, const struct flame *flame)
{
    const struct profile *a = &q->sides[0].profile, *b = &q->sides[1].profile;

    (void)fprintf(f, "{\"event\":\"%s\",\"title\":", event_name(a->event));
    put_value(f, title_of(q));
    put_functions(f, "names", q->symbolizer, name_of);
    put_functions(f, "binaries", q->symbolizer, binary_of);
    put_functions(f, "files", q->symbolizer, file_of);
    put_functions(f, "kinds", q->symbolizer, kind_of);
    put_indexes(f, "parent", flame->parent, flame->node_count);
    put_indexes(f, "function", flame->function, flame->node_count);
    put_weights(f, "self", flame->self_a, flame->node_count);
    put_weights(f, "total", flame->total_a, flame->node_count);
    put_weights(f, "self_b", flame->self_b, flame->node_count);
    put_weights(f, "total_b", flame->total_b, flame->node_count);
    put_side(f, "", a);
    if (q->side_count == 2)
        put_side(f, "_b", b);
    (void)fputs("}\n", f);
}

static enum status finish(FILE *f, char **bytes)
{
    bool failed = ferror(f) != 0;

    if (fclose(f) == 0 && !failed)
        return ST_OK;
    free(*bytes);
    *bytes = NULL;
    return ST_NOMEM;
}

/* Puts the JSON into the page. A "<" occurs in strings alone and is escaped, so that no function's
 * name can end the script element. */
static enum status wrap(struct question *q)
{
    const char *at = strstr(web_flame_html, WEB_FLAME_PLACEHOLDER);
    char *bytes = NULL;
    size_t length = 0;
    FILE *f = at == NULL ? NULL : open_memstream(&bytes, &length);
    enum status st;

    if (f == NULL)
        return at == NULL ? ST_UNSUPPORTED : ST_NOMEM;
    (void)fwrite(web_flame_html, 1, (size_t)(at - web_flame_html), f);
    (void)fputs("<script id=\"data\" type=\"application/json\">", f);
    for (size_t i = 0; i < q->length; i++)
        if (q->bytes[i] == '<')
            (void)fputs("\\u003c", f);
        else
            (void)fputc(q->bytes[i], f);
    (void)fputs("</script>", f);
    (void)fputs(at + strlen(WEB_FLAME_PLACEHOLDER), f);
    st = finish(f, &bytes);
    if (st != ST_OK)
        return st;
    free(q->bytes);
    q->bytes = bytes;
    q->length = length;
    q->media_type = "text/html; charset=utf-8";
    return ST_OK;
}

static enum status work(struct question *q)
{
    const struct profile *b = q->side_count == 2 ? &q->sides[1].profile : NULL;
    struct flame flame = {0};
    enum status st = flame_build(&q->sides[0].profile, b, q->symbolizer, q->dictionary, &flame);
    FILE *f;

    if (st != ST_OK)
        return st;
    q->media_type = "application/json";
    f = open_memstream(&q->bytes, &q->length);
    if (f == NULL) {
        st = ST_NOMEM;
    } else {
        put_flame(f, q, &flame);
        st = finish(f, &q->bytes);
    }
    flame_deinit(&flame);
    return st == ST_OK && q->page ? wrap(q) : st;
}

/* ---- routes ---- */

static bool parse_format(struct call *c, bool *out_page)
{
    const char *text = http_query(c->request, "format");

    if (text == NULL || strcmp(text, "json") == 0)
        return true;
    if (strcmp(text, "html") == 0) {
        *out_page = true;
        return true;
    }
    call_fail(c, ST_INVALID, "format '%.64s': json or html would be accepted", text);
    return false;
}

/* One window, or two sides. */
static bool parse_sides(struct call *c, struct question *q)
{
    static const char *const of_window[] = {"session", "from", "to", "select"};

    if (http_query(c->request, "a") == NULL && http_query(c->request, "b") == NULL)
        return params_window(c, q);
    for (size_t i = 0; i < sizeof(of_window) / sizeof(of_window[0]); i++)
        if (http_query(c->request, of_window[i]) != NULL) {
            call_fail(c, ST_INVALID, "%s does not go with a and b, which are sides of their own",
                      of_window[i]);
            return false;
        }
    return params_sides(c, q);
}

static void ask(struct call *c, bool page)
{
    struct question *q = question_begin(c, work);

    if (q == NULL)
        return;
    q->page = page;
    if (parse_sides(c, q) && parse_format(c, &q->page))
        question_ask(c, q);
    else
        question_free(q);
}

void route_flame(struct call *c)
{
    ask(c, false);
}

void route_flame_page(struct call *c)
{
    ask(c, true);
}

void route_index_page(struct call *c)
{
    call_answer_text(c, "text/html; charset=utf-8",
                     (struct slice){(const uint8_t *)web_index_html, web_index_html_length});
}
