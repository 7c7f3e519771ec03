/* view_export - /export: a window as a file in another tool's format. */
#include <stdio.h>

#include "coordinator/http/params.h"

/* NAME, suffix of the file */
static const char *suffix(enum export_format f)
{
    switch (f) {
    case EXPORT_PPROF:
        return "pb.gz";
    case EXPORT_COLLAPSED:
        return "txt";
    case EXPORT_SPEEDSCOPE:
        return "speedscope.json";
    }
    return "bin";
}

static enum status work(struct question *q)
{
    struct blob blob = {0};
    enum status st =
        export_profile(&q->sides[0].profile, q->symbolizer, q->dictionary, q->format, &blob);

    if (st != ST_OK)
        return st;
    q->bytes = (char *)blob.bytes; /* both are malloc's */
    q->length = blob.length;
    q->media_type = export_media_type(q->format);
    (void)snprintf(q->file_name, sizeof(q->file_name), "fleetprof.%s", suffix(q->format));
    return ST_OK;
}

static bool parse_format(struct call *c, enum export_format *out)
{
#define X(NAME, name, media) " " #name
    static const char names[] = EXPORT_FORMAT_LIST(X);
#undef X
    const char *text = http_query(c->request, "format");

    if (text != NULL && export_format_parse(text, out) == ST_OK)
        return true;
    call_fail(c, ST_INVALID, "format '%.64s': one of these would be accepted:%s",
              text == NULL ? "" : text, names);
    return false;
}

void route_export(struct call *c)
{
    struct question *q = question_begin(c, work);

    if (q == NULL)
        return;
    if (params_window(c, q) && parse_format(c, &q->format))
        question_ask(c, q);
    else
        question_free(q);
}
