#include "common/table.h"

#include <string.h>

#include "common/utf8.h"

void table_put(struct wire_writer *w, uint32_t rows, struct column *columns, uint32_t count)
{
    wire_put_array(w, 1 + count);
    wire_put_u64(w, rows);
    for (uint32_t i = 0; i < count; i++) {
        wire_put_column(w, &columns[i]);
        column_deinit(&columns[i]);
    }
}

struct table table_get(struct wire_reader *r, uint32_t rows_max, uint32_t columns)
{
    uint32_t items = wire_get_array(r, 1 + TABLE_COLUMNS_READ_MAX);
    struct table t = {.rows = wire_get_u32(r), .columns = columns};

    if (t.rows > rows_max)
        wire_fail(r, ST_TOO_BIG);
    if (items < 1 + columns)
        wire_fail(r, ST_INVALID);
    for (uint32_t i = 0; i < columns; i++) {
        struct slice bin = wire_get_bin(r, UINT32_MAX);

        if (bin.length < t.rows)
            wire_fail(r, ST_INVALID);
        wire_reader_init(&t.column[i], bin);
    }
    for (uint32_t i = 1 + columns; i < items; i++)
        wire_skip(r);

    if (wire_reader_status(r) != ST_OK)
        t.rows = 0;
    return t;
}

void table_finish(struct wire_reader *r, struct table *t)
{
    for (uint32_t i = 0; i < t->columns; i++)
        if (wire_finish(&t->column[i]) != ST_OK)
            wire_fail(r, wire_reader_status(&t->column[i]));
}

bool texts_valid(struct slice texts, uint32_t rows, uint32_t max_bytes)
{
    const char *next = (const char *)texts.bytes;
    size_t left = texts.length;

    for (uint32_t i = 0; i < rows; i++) {
        const char *end = left > 0 ? memchr(next, '\0', left) : NULL;
        size_t length;

        if (end == NULL)
            return false;
        length = (size_t)(end - next);
        if (length > max_bytes || !utf8_valid(next, length))
            return false;
        next += length + 1;
        left -= length + 1;
    }
    return left == 0;
}
