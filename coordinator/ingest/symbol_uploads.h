/* symbol_uploads - packed symbol tables that arrive in parts, until they are whole.
 * Bounded in number and bytes, whoever sends what. Knows no store, no sockets and no clock: an
 * upload grows stale by the parts of others that pass it by. Loop thread. */
#ifndef COORDINATOR_INGEST_SYMBOL_UPLOADS_H
#define COORDINATOR_INGEST_SYMBOL_UPLOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/message.h"
#include "coordinator/ingest/ingest.h"
#include "coordinator/store/symbol_record.h"

struct symbol_upload { /* one at a time for a build id and origin */
    struct build_id id;
    enum symbol_origin origin;
    char from[SYMBOL_FROM_MAX + 1];
    uint32_t parts, next_part;
    uint8_t *bytes;
    size_t length;
    uint64_t heard; /* symbol_uploads.parts_heard at its last part */
    bool whole; /* given out: it keeps its place until it is freed */
};

struct symbol_uploads { /* zero-initialised is empty */
    struct symbol_upload *places[INGEST_UPLOADS_MAX];
    size_t bytes; /* of all uploads, the whole ones too */
    uint64_t parts_heard;
};

/* `out` is NULL or, with the last part, the whole upload: the caller's, who frees it. Fails as
 * ingest_symbols does, and then the upload is dropped. */
enum status symbol_uploads_add(struct symbol_uploads *u, enum symbol_origin origin,
                               const char *from, const struct symbols_part *part,
                               struct symbol_upload **out);
void symbol_uploads_drop(struct symbol_uploads *u, enum symbol_origin origin,
                         const struct build_id *id); /* unless whole */
void symbol_upload_free(struct symbol_uploads *u, struct symbol_upload *upload);
void symbol_uploads_deinit(struct symbol_uploads *u);

#endif
