#include "common/table.h"

#include <string.h>

#include "common/utf8.h"

/* ---- writing ---- */

void table_put(struct table_writer *t, uint32_t column, uint64_t value)
{
    column_put(&t->column[column], value);
}

void table_put_delta(struct table_writer *t, uint32_t column, uint64_t value)
{
    column_put_signed(&t->column[column], (int64_t)(value - t->last[column]));
    t->last[column] = value;
}

void table_put_text(struct table_writer *t, uint32_t column, const char *text)
{
    column_put_bytes(&t->column[column], text, strlen(text) + 1);
}

void table_put_bytes(struct table_writer *t, uint32_t column, const void *bytes, uint8_t length)
{
    column_put(&t->column[column], length);
    column_put_bytes(&t->column[column], bytes, length);
}

void table_write(struct wire_writer *w, struct table_writer *t, uint32_t rows, uint32_t columns)
{
    wire_put_array(w, 1 + columns);
    wire_put_u64(w, rows);
    for (uint32_t i = 0; i < columns; i++) {
        wire_put_column(w, &t->column[i]);
        column_deinit(&t->column[i]);
    }
    *t = (struct table_writer){0};
}

/* ---- reading ---- */

struct table_reader table_read(struct wire_reader *r, uint32_t rows_max, uint32_t columns)
{
    uint32_t items = wire_get_array(r, 1 + TABLE_COLUMNS_READ_MAX);
    struct table_reader t = {.rows = wire_get_u32(r), .columns = columns};

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

uint64_t table_get(struct table_reader *t, uint32_t column)
{
    return column_get(&t->column[column]);
}

static uint32_t narrow(struct wire_reader *r, uint64_t value)
{
    if (value <= UINT32_MAX)
        return (uint32_t)value;
    wire_fail(r, ST_INVALID);
    return 0;
}

uint32_t table_get_u32(struct table_reader *t, uint32_t column)
{
    return narrow(&t->column[column], table_get(t, column));
}

uint64_t table_get_delta(struct table_reader *t, uint32_t column)
{
    t->last[column] += (uint64_t)column_get_signed(&t->column[column]);
    return t->last[column];
}

uint32_t table_get_delta_u32(struct table_reader *t, uint32_t column)
{
    return narrow(&t->column[column], table_get_delta(t, column));
}

struct slice table_get_text(struct table_reader *t, uint32_t column, uint32_t max_bytes)
{
    struct wire_reader *r = &t->column[column];
    struct slice text = {r->next, 0};
    const uint8_t *end =
        r->next != r->end ? memchr(r->next, '\0', (size_t)(r->end - r->next)) : NULL;

    if (end == NULL)
        wire_fail(r, ST_INVALID);
    else
        text.length = (size_t)(end - r->next);
    if (text.length > max_bytes)
        wire_fail(r, ST_TOO_BIG);
    else if (!utf8_valid((const char *)text.bytes, text.length))
        wire_fail(r, ST_INVALID);

    if (wire_reader_status(r) != ST_OK)
        return (struct slice){0};
    r->next = end + 1;
    return text;
}

struct slice table_get_bytes(struct table_reader *t, uint32_t column, uint8_t max_bytes)
{
    struct wire_reader *r = &t->column[column];
    uint64_t length = column_get(r);

    if (length > max_bytes)
        wire_fail(r, ST_TOO_BIG);
    return wire_take(r, length);
}

void table_finish(struct wire_reader *r, struct table_reader *t)
{
    for (uint32_t i = 0; i < t->columns; i++)
        if (wire_finish(&t->column[i]) != ST_OK)
            wire_fail(r, wire_reader_status(&t->column[i]));
}
