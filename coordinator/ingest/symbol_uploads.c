#include "coordinator/ingest/symbol_uploads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"

static struct symbol_upload **find(struct symbol_uploads *u, enum symbol_origin origin,
                                   const struct build_id *id)
{
    for (int i = 0; i < INGEST_UPLOADS_MAX; i++) {
        struct symbol_upload *upload = u->places[i];

        if (upload != NULL && !upload->whole && upload->origin == origin &&
            build_id_equal(&upload->id, id))
            return &u->places[i];
    }
    return NULL;
}

static void free_place(struct symbol_uploads *u, struct symbol_upload **place)
{
    u->bytes -= (*place)->length;
    free((*place)->bytes);
    free(*place);
    *place = NULL;
}

void symbol_uploads_drop(struct symbol_uploads *u, enum symbol_origin origin,
                         const struct build_id *id)
{
    struct symbol_upload **place = find(u, origin, id);

    if (place != NULL)
        free_place(u, place);
}

void symbol_upload_free(struct symbol_uploads *u, struct symbol_upload *upload)
{
    for (int i = 0; i < INGEST_UPLOADS_MAX; i++)
        if (u->places[i] == upload)
            free_place(u, &u->places[i]);
}

void symbol_uploads_deinit(struct symbol_uploads *u)
{
    for (int i = 0; i < INGEST_UPLOADS_MAX; i++)
        if (u->places[i] != NULL)
            free_place(u, &u->places[i]);
}

/* Drops the upload that has been silent longest, if that is long enough. */
static bool drop_stale(struct symbol_uploads *u)
{
    struct symbol_upload **oldest = NULL;

    for (int i = 0; i < INGEST_UPLOADS_MAX; i++) {
        struct symbol_upload *upload = u->places[i];

        if (upload != NULL && !upload->whole &&
            (oldest == NULL || upload->heard < (*oldest)->heard))
            oldest = &u->places[i];
    }
    if (oldest == NULL || u->parts_heard - (*oldest)->heard < INGEST_UPLOAD_STALE_PARTS)
        return false;
    free_place(u, oldest);
    return true;
}

static struct symbol_upload **find_free(struct symbol_uploads *u)
{
    for (int i = 0; i < INGEST_UPLOADS_MAX; i++)
        if (u->places[i] == NULL)
            return &u->places[i];
    return NULL;
}

static enum status begin(struct symbol_uploads *u, enum symbol_origin origin, const char *from,
                         const struct symbols_part *part)
{
    struct symbol_upload **place = find_free(u);

    if (place == NULL && drop_stale(u))
        place = find_free(u);
    if (place == NULL)
        return ST_FULL;
    *place = calloc(1, sizeof(**place));
    if (*place == NULL)
        return ST_NOMEM;
    (*place)->id = part->id;
    (*place)->origin = origin;
    (*place)->parts = part->parts;
    (void)snprintf((*place)->from, sizeof((*place)->from), "%s", from);
    return ST_OK;
}

static bool is_next(const struct symbol_upload *upload, const char *from,
                    const struct symbols_part *part)
{
    return part->part == upload->next_part && part->parts == upload->parts &&
           strcmp(upload->from, from) == 0;
}

static enum status append(struct symbol_uploads *u, struct symbol_upload *upload,
                          struct slice bytes)
{
    uint8_t *grown;

    upload->heard = u->parts_heard;
    if (bytes.length > SYMTAB_PACKED_MAX - upload->length)
        return ST_TOO_BIG;
    while (bytes.length > INGEST_UPLOAD_BYTES_MAX - u->bytes)
        if (!drop_stale(u))
            return ST_FULL;
    if (bytes.length > 0) {
        grown = realloc(upload->bytes, upload->length + bytes.length);
        if (grown == NULL)
            return ST_NOMEM;
        memcpy(grown + upload->length, bytes.bytes, bytes.length);
        upload->bytes = grown;
        upload->length += bytes.length;
        u->bytes += bytes.length;
    }
    upload->next_part++;
    return ST_OK;
}

enum status symbol_uploads_add(struct symbol_uploads *u, enum symbol_origin origin,
                               const char *from, const struct symbols_part *part,
                               struct symbol_upload **out)
{
    struct symbol_upload **place;
    enum status st = ST_OK;

    u->parts_heard++;
    if (part->part == 0) {
        symbol_uploads_drop(u, origin, &part->id);
        st = begin(u, origin, from, part);
    }
    if (st != ST_OK)
        return st;
    place = find(u, origin, &part->id);
    if (place == NULL)
        return ST_INVALID;
    st = is_next(*place, from, part) ? append(u, *place, part->bytes) : ST_INVALID;
    if (st != ST_OK) {
        free_place(u, place);
        return st;
    }
    (*place)->whole = (*place)->next_part == (*place)->parts;
    *out = (*place)->whole ? *place : NULL;
    return ST_OK;
}
