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

enum status export_text_close(struct export_text *t, struct blob *out)
{
    bool failed = ferror(t->file) != 0;

    if (fclose(t->file) != 0 || failed) {
        free(t->bytes);
        return ST_NOMEM;
    }
    *out = (struct blob){.bytes = (uint8_t *)t->bytes, .length = t->length};
    return ST_OK;
}

void export_text_drop(struct export_text *t)
{
    (void)fclose(t->file);
    free(t->bytes);
}
