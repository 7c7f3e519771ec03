/* table - rows stored by column: the msgpack array [rows, bin, bin, ...], one bin a column.
 * Numbers of a column lie side by side, which is what makes them small under zstd. A row takes at
 * least one byte in every column, so a reader can allocate `rows` rows without being had. Columns
 * that a newer writer appends are skipped. */
#ifndef COMMON_TABLE_H
#define COMMON_TABLE_H

#include <stdint.h>

#include "common/wire.h"

enum {
    TABLE_COLUMNS_MAX = 4, /* the widest that we write */
    TABLE_COLUMNS_READ_MAX = 32, /* the widest that we skip through */
};

/* ---- writing: put each row's values, then write once ---- */

struct table_writer { /* zero-initialised is empty */
    struct column column[TABLE_COLUMNS_MAX];
    uint64_t last[TABLE_COLUMNS_MAX]; /* what the next delta is taken from */
};

void table_put(struct table_writer *t, uint32_t column, uint64_t value);
void table_put_delta(struct table_writer *t, uint32_t column, uint64_t value); /* to the last one */
void table_put_text(struct table_writer *t, uint32_t column, const char *text);
void table_put_bytes(struct table_writer *t, uint32_t column, const void *bytes, uint8_t length);

/* Writes the first `columns` columns and leaves `t` empty. */
void table_write(struct wire_writer *w, struct table_writer *t, uint32_t rows, uint32_t columns);

/* ---- reading: sticky by column ---- */

struct table_reader {
    uint32_t rows;
    uint32_t columns;
    struct wire_reader column[TABLE_COLUMNS_MAX]; /* lent from the input */
    uint64_t last[TABLE_COLUMNS_MAX];
};

/* After a failure the table has no rows. More than rows_max: ST_TOO_BIG. */
struct table_reader table_read(struct wire_reader *r, uint32_t rows_max, uint32_t columns);

uint64_t table_get(struct table_reader *t, uint32_t column);
uint32_t table_get_u32(struct table_reader *t, uint32_t column);
uint64_t table_get_delta(struct table_reader *t, uint32_t column);
uint32_t table_get_delta_u32(struct table_reader *t, uint32_t column);
/* UTF-8 with its NUL after it, which `length` does not count. */
struct slice table_get_text(struct table_reader *t, uint32_t column, uint32_t max_bytes);
struct slice table_get_bytes(struct table_reader *t, uint32_t column, uint8_t max_bytes);

/* Call after the last row: fails `r` when a column failed or has something left. */
void table_finish(struct wire_reader *r, struct table_reader *t);

#endif
