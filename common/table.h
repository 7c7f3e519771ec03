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

struct table { /* a table being read */
    uint32_t rows;
    uint32_t columns;
    struct wire_reader column[TABLE_COLUMNS_MAX]; /* lent from the input */
};

/* Writes and then deinits the columns. */
void table_put(struct wire_writer *w, uint32_t rows, struct column *columns, uint32_t count);

/* After a failure the table has no rows. More than rows_max: ST_TOO_BIG. */
struct table table_get(struct wire_reader *r, uint32_t rows_max, uint32_t columns);

/* Call after the last row: fails `r` when a column failed or has something left. */
void table_finish(struct wire_reader *r, struct table *t);

/* A column of NUL-terminated texts. True: exactly one for each row, UTF-8, none over max_bytes. */
bool texts_valid(struct slice texts, uint32_t rows, uint32_t max_bytes);

#endif
