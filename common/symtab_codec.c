/* symtab's bytes: zstd over {1: layout, 2: table of starts, sizes and names}; see
 * schemas/README.md. */
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"
#include "common/table.h"

enum { LAYOUT = 1 };
enum { KEY_LAYOUT = 1, KEY_SYMBOLS, KEYS_MAX = 16 };
enum { COLUMN_START, COLUMN_SIZE, COLUMN_NAME, COLUMNS };

/* ---- encode ---- */

static void put_symbols(struct wire_writer *w, const struct symtab *t)
{
    struct column columns[COLUMNS] = {{0}};
    uint64_t last = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct symbol *s = &t->symbols[i];
        const char *name = t->text + s->name;

        column_put(&columns[COLUMN_START], s->start - last);
        column_put(&columns[COLUMN_SIZE], s->size);
        column_put_bytes(&columns[COLUMN_NAME], name, strlen(name) + 1);
        last = s->start;
    }
    table_put(w, t->count, columns, COLUMNS);
}

static bool is_sorted(const struct symtab *t)
{
    for (uint32_t i = 1; i < t->count; i++)
        if (t->symbols[i].start <= t->symbols[i - 1].start)
            return false;
    return true;
}

enum status symtab_encode(const struct symtab *t, struct blob *out)
{
    enum status st;
    struct wire_writer *w = NULL;
    struct blob packed = {0};

    if (!is_sorted(t))
        return ST_BAD_STATE;
    st = wire_writer_new(SYMTAB_PLAIN_MAX, &w);
    if (st != ST_OK)
        goto out;
    wire_put_map(w, 2);
    wire_put_u64(w, KEY_LAYOUT);
    wire_put_u64(w, LAYOUT);
    wire_put_u64(w, KEY_SYMBOLS);
    put_symbols(w, t);
    st = wire_writer_status(w);
    if (st == ST_OK)
        st = compress(wire_writer_bytes(w), &packed);
    if (st == ST_OK && packed.length > SYMTAB_PACKED_MAX)
        st = ST_TOO_BIG;
    if (st != ST_OK)
        goto out;

    *out = packed;
    packed = (struct blob){0};
out:
    blob_deinit(&packed);
    wire_writer_free(w);
    return st;
}

/* ---- decode ---- */

static enum status allocate(struct symtab *t, uint32_t count, struct slice names)
{
    t->symbols = calloc(count > 0 ? count : 1, sizeof(*t->symbols));
    t->text = malloc(names.length + 1);
    if (t->symbols == NULL || t->text == NULL)
        return ST_NOMEM;
    if (names.length > 0)
        memcpy(t->text, names.bytes, names.length);
    t->text_length = names.length;
    t->text_capacity = names.length + 1;
    t->capacity = count;
    return ST_OK;
}

/* Starts ascend: a step of zero after the first, or one that wraps, is no table of ours; nor is
 * an empty name. */
static void get_row(struct table *columns, struct symtab *t, size_t *text_at)
{
    struct wire_reader *starts = &columns->column[COLUMN_START];
    uint64_t last = t->count > 0 ? t->symbols[t->count - 1].start : 0;
    uint64_t step = column_get(starts);

    if ((t->count > 0 && step == 0) || step > UINT64_MAX - last)
        wire_fail(starts, ST_INVALID);
    if (t->text[*text_at] == '\0')
        wire_fail(starts, ST_INVALID);
    t->symbols[t->count++] = (struct symbol){
        .start = last + step,
        .size = column_get(&columns->column[COLUMN_SIZE]),
        .name = (uint32_t)*text_at,
    };
    *text_at += strlen(t->text + *text_at) + 1;
}

static void get_symbols(struct wire_reader *r, struct symtab *t)
{
    struct table columns = table_get(r, SYMTAB_SYMBOLS_MAX, COLUMNS);
    struct slice names = wire_rest(&columns.column[COLUMN_NAME]);
    size_t text_at = 0;

    if (wire_reader_status(r) == ST_OK && !texts_valid(names, columns.rows, SYMTAB_NAME_MAX))
        wire_fail(r, ST_INVALID);
    if (wire_reader_status(r) == ST_OK)
        wire_fail(r, allocate(t, columns.rows, names));
    if (wire_reader_status(r) != ST_OK)
        return;
    for (uint32_t i = 0; i < columns.rows; i++)
        get_row(&columns, t, &text_at);
    table_finish(r, &columns);
}

static enum status decode_plain(struct slice plain, struct symtab *t)
{
    struct wire_reader r;
    uint64_t key = 0, layout = 0;

    wire_reader_init(&r, plain);
    for (uint32_t n = wire_get_map(&r, KEYS_MAX); n > 0 && wire_key(&r, &key); n--) {
        switch (key) {
        case KEY_LAYOUT:
            layout = wire_get_u64(&r);
            if (layout != LAYOUT)
                wire_fail(&r, ST_UNSUPPORTED);
            break;
        case KEY_SYMBOLS:
            get_symbols(&r, t);
            break;
        default:
            wire_skip(&r);
        }
    }
    if (t->symbols == NULL || layout == 0)
        wire_fail(&r, ST_INVALID);
    return wire_finish(&r);
}

enum status symtab_decode(struct slice bytes, struct symtab *out)
{
    struct symtab t = {0};
    struct blob plain = {0};
    enum status st = ST_TOO_BIG;

    if (bytes.length <= SYMTAB_PACKED_MAX)
        st = decompress(bytes, SYMTAB_PLAIN_MAX, &plain);
    if (st == ST_OK)
        st = decode_plain(blob_slice(&plain), &t);
    if (st == ST_OK) {
        *out = t;
        t = (struct symtab){0};
    }
    symtab_deinit(&t);
    blob_deinit(&plain);
    return st;
}
