/* symbol_upload - POST /symbols: a packed symbol table in parts of at most HTTP_BODY_MAX, so that
 * no request holds more memory than any other. The last part is answered when the table is durable.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/http/call.h"
#include "coordinator/http/peer.h"
#include "coordinator/http/view_symbols.h"
#include "coordinator/ingest/ingest.h"

enum { PARTS_MAX = SYMTAB_PACKED_MAX / HTTP_BODY_MAX, SHOWN = 200 };

static bool number_param(struct call *c, const char *name, uint32_t max, uint32_t otherwise,
                         uint32_t *out)
{
    const char *text = http_query(c->request, name);
    unsigned long value;

    if (text == NULL) {
        *out = otherwise;
        return true;
    }
    errno = 0;
    value = strtoul(text, NULL, 10);
    if (errno == 0 && *text != '\0' && strspn(text, "0123456789") == strlen(text) && value <= max) {
        *out = (uint32_t)value;
        return true;
    }
    call_fail(c, ST_INVALID, "%s '%.*s': a whole number up to %u would be accepted", name, SHOWN,
              text, max);
    return false;
}

static bool flag_param(struct call *c, const char *name, bool *out)
{
    const char *text = http_query(c->request, name);

    *out = text != NULL && strcmp(text, "true") == 0;
    if (text == NULL || *out || strcmp(text, "false") == 0)
        return true;
    call_fail(c, ST_INVALID, "%s '%.*s': true or false would be accepted", name, SHOWN, text);
    return false;
}

static bool read_part(struct call *c, struct symbols_part *out)
{
    const char *id = http_query(c->request, "build_id");
    struct symbols_part p = {.bytes = http_body(c->request)};

    if (id == NULL || build_id_parse(id, &p.id) != ST_OK) {
        call_fail(c, ST_INVALID,
                  "build_id '%.*s': an even number of hexadecimal digits, up to 64, would be "
                  "accepted",
                  SHOWN, id == NULL ? "" : id);
        return false;
    }
    if (!number_param(c, "parts", PARTS_MAX, 1, &p.parts) ||
        !number_param(c, "part", PARTS_MAX, 0, &p.part))
        return false;
    if (p.part < p.parts) {
        *out = p;
        return true;
    }
    call_fail(c, ST_INVALID, "part %u of %u: parts are numbered from 0, and there is one at least",
              p.part, p.parts);
    return false;
}

static void answer(struct call *c, const struct symbols_result *r)
{
    const struct symbol_record *s = &r->record;
    char id[BUILD_ID_TEXT_MAX];

    build_id_format(&r->id, id);
    if (r->status == ST_OK)
        call_answer(c, 200,
                    json_pack("{s:s, s:b, s:I, s:s, s:o}", "build_id", id, "stored", true,
                              "symbols", (json_int_t)s->symbols, "quality",
                              view_symbol_quality(s->grade), "sources",
                              view_symbol_sources(s->sources)));
    else if (r->status == ST_EXISTS)
        call_fail(c, ST_EXISTS,
                  "build id %s has a table that is as good or better: %u symbols, quality %s, from "
                  "%s %s; with force it would be replaced",
                  id, s->symbols, view_symbol_quality(s->grade), symbol_origin_name(s->origin),
                  s->from);
    else if (r->status == ST_INVALID || r->status == ST_UNSUPPORTED)
        call_fail(c, ST_INVALID, "what came for build id %s is not a packed symbol table", id);
    else
        call_fail(c, r->status, "the table is not stored: %s", status_text(r->status));
}

static void on_done(void *arg, const struct symbols_result *result)
{
    struct call *c = arg;
    struct api *a = c->api;

    answer(c, result);
    free(c);
    a->commands--;
    api_check_idle(a);
}

static void fail_part(struct call *c, enum status st)
{
    if (st == ST_INVALID)
        call_fail(c, st, "the parts of an upload come in order, from one sender");
    else if (st == ST_TOO_BIG)
        call_fail(c, st, "a packed symbol table has at most %d bytes", SYMTAB_PACKED_MAX);
    else if (st == ST_FULL)
        call_fail(c, st, "too many symbol tables are on their way; send it again in a moment");
    else
        call_fail(c, st, "%s", status_text(st));
}

/* Every part but the last is answered at once. */
static void take_part(struct call *c, const struct symbols_source *source,
                      const struct symbols_part *part)
{
    bool last = part->part + 1 == part->parts;
    struct call *kept = malloc(sizeof(*kept));
    struct api *a = c->api;
    enum status st = ST_NOMEM;

    if (kept != NULL) {
        *kept = *c;
        a->commands++;
        st = ingest_symbols(a->options.ingest, source, part, on_done, kept);
    }
    if (st == ST_OK && last)
        return; /* on_done follows, or was there */
    if (kept != NULL) {
        free(kept);
        a->commands--;
    }
    if (st == ST_OK)
        call_answer(c, 202,
                    json_pack("{s:I, s:I}", "part", (json_int_t)part->part, "parts",
                              (json_int_t)part->parts));
    else
        fail_part(c, st);
}

void route_symbols_upload(struct call *c)
{
    const char *name = http_query(c->request, "name");
    struct symbols_source source = {
        .origin = SYMBOL_FROM_OPERATOR, .name = name != NULL ? name : "", .now = c->now};
    char peer[PEER_NAME_MAX];
    struct symbols_part part;

    if (!read_part(c, &part) || !flag_param(c, "force", &source.force))
        return;
    source.from = http_query(c->request, "owner");
    if (source.from == NULL || source.from[0] == '\0')
        source.from = peer_name(c, peer);
    take_part(c, &source, &part);
}
