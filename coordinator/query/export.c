/* export - which format is whose. */
#include "coordinator/query/export.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/query/export_format.h"

enum status export_format_parse(const char *text, enum export_format *out)
{
#define X(NAME, name, media)        \
    if (strcmp(text, #name) == 0) { \
        *out = EXPORT_##NAME;       \
        return ST_OK;               \
    }
    EXPORT_FORMAT_LIST(X)
#undef X
    return ST_INVALID;
}

const char *export_media_type(enum export_format f)
{
    switch (f) {
#define X(NAME, name, media) \
    case EXPORT_##NAME:      \
        return media;
        EXPORT_FORMAT_LIST(X)
#undef X
    }
    return "application/octet-stream";
}

enum status export_profile(const struct profile *p, struct symbolizer *s,
                           const struct dictionary *d, enum export_format f, struct blob *out)
{
    if (!(p->weight_ns <= EXPORT_WEIGHT_NS_MAX))
        return ST_TOO_BIG;
    switch (f) {
#define X(NAME, name, media) \
    case EXPORT_##NAME:      \
        return export_##name(p, s, d, out);
        EXPORT_FORMAT_LIST(X)
#undef X
    }
    return ST_UNSUPPORTED;
}

enum status export_text_open(struct export_text *t)
{
    *t = (struct export_text){0};
    t->file = open_memstream(&t->bytes, &t->length);
    return t->file == NULL ? ST_NOMEM : ST_OK;
}

enum status export_text_check(const struct export_text *t)
{
    if (ferror(t->file))
        return ST_NOMEM;
    return ftello(t->file) > EXPORT_BYTES_MAX ? ST_TOO_BIG : ST_OK;
}

enum status export_text_end(struct export_text *t, enum status st, struct blob *out)
{
    if (st == ST_OK)
        st = export_text_check(t);
    if (fclose(t->file) != 0 && st == ST_OK)
        st = ST_NOMEM;
    if (st == ST_OK)
        *out = (struct blob){.bytes = (uint8_t *)t->bytes, .length = t->length};
    else
        free(t->bytes);
    return st;
}
