/* intern - rows and texts that are kept once and numbered from 0 in the order they were first seen.
 * Tables grow as they fill and stop at a limit. All are values: zero but for their options, and
 * empty again after deinit, ready for more. Private to aggregate. */
#ifndef AGENT_INTERN_H
#define AGENT_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* ---- rows: a growing table of rows of one size ---- */

struct rows {
    size_t row_bytes; /* option */
    uint32_t limit; /* option */
    uint32_t count, capacity;
    void *at;
};

/* Makes room for one more. ST_FULL: at the limit; ST_NOMEM. */
enum status rows_reserve(struct rows *r);
enum status rows_add(struct rows *r, const void *row);
void rows_deinit(struct rows *r);

/* ---- interned: rows told apart by their first bytes ---- */

struct lookup { /* where a row is, by hash: open addressing, at most half full */
    struct lookup_slot *slots;
    uint32_t slot_count, used;
};

struct interned {
    struct rows rows;
    size_t key_bytes; /* option: these lead every row and have no padding */
    struct lookup lookup;
};

bool interned_find(const struct interned *t, const void *row, uint32_t *out_number);
/* The number of the row with `row`'s key, which is `row` itself where there was none. */
enum status interned_add(struct interned *t, const void *row, uint32_t *out_number);
void interned_deinit(struct interned *t);

/* ---- texts: valid UTF-8, NUL-terminated, back to back ---- */

struct texts {
    struct rows starts; /* uint32_t: where each text starts in bytes */
    uint32_t bytes_limit, longest; /* options: of all texts with their NULs, and of one without */
    uint32_t length, capacity; /* of bytes */
    char *bytes;
    struct lookup lookup;
};

/* Longer texts are cut and what is no UTF-8 is repaired, so texts that look alike then are one. */
enum status texts_add(struct texts *t, const char *text, uint32_t *out_number);
void texts_deinit(struct texts *t);

#endif
