/* symtab's bytes: zstd over {1: layout, 2: table of starts, sizes and names, 3: sources, 4: cut,
 * 5: places, packed}; see schemas/README.md. */
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"
#include "common/table.h"

enum { LAYOUT = 1 };
enum { KEY_LAYOUT = 1, KEY_SYMBOLS, KEY_SOURCES, KEY_CUT, KEY_PLACES, KEYS_MAX = 16 };
enum { COLUMN_START, COLUMN_SIZE, COLUMN_NAME, COLUMNS };

/* ---- encode ---- */

static void put_symbols(struct wire_writer *w, const struct symtab *t)
{
    struct table_writer rows = {0};
    uint64_t last = 0;

    for (uint32_t i = 0; i < t->count; i++) {
        const struct symbol *s = &t->symbols[i];

        table_put(&rows, COLUMN_START, s->start - last);
        table_put(&rows, COLUMN_SIZE, s->size);
        table_put_text(&rows, COLUMN_NAME, t->text + s->name);
        last = s->start;
    }
    table_write(w, &rows, t->count, COLUMNS);
}

static bool is_sorted(const struct symtab *t)
{
    for (uint32_t i = 1; i < t->count; i++)
        if (t->symbols[i].start <= t->symbols[i - 1].start)
            return false;
    return true;
}

/* Keys three to five stay away while they say nothing. */
static void put_all(struct wire_writer *w, const struct symtab *t, bool cut, struct slice places)
{
    bool sources = t->sources != 0;

    wire_put_map(w, 2 + sources + cut + (places.length > 0));
    wire_put_u64(w, KEY_LAYOUT);
    wire_put_u64(w, LAYOUT);
    wire_put_u64(w, KEY_SYMBOLS);
    put_symbols(w, t);
    if (sources) {
        wire_put_u64(w, KEY_SOURCES);
        wire_put_u64(w, t->sources);
    }
    if (cut) {
        wire_put_u64(w, KEY_CUT);
        wire_put_bool(w, true);
    }
    if (places.length > 0) {
        wire_put_u64(w, KEY_PLACES);
        wire_put_bin(w, places.bytes, places.length);
    }
}

/* Leaves `out` empty when there are none, or more than may be written. */
static enum status pack_places(const struct symtab *t, bool *cut, struct blob *out)
{
    enum status st;

    if (t->places.span_count == 0)
        return ST_OK;
    st = places_encode(&t->places, out);
    if (st != ST_TOO_BIG)
        return st;
    *cut = true;
    return ST_OK;
}

enum status symtab_encode(const struct symtab *t, struct blob *out)
{
    enum status st;
    struct wire_writer *w = NULL;
    struct blob packed = {0}, places = {0};
    bool cut = t->is_cut;

    if (!is_sorted(t))
        return ST_BAD_STATE;
    st = wire_writer_new(SYMTAB_PLAIN_MAX, &w);
    if (st == ST_OK)
        st = pack_places(t, &cut, &places);
    if (st != ST_OK)
        goto out;
    put_all(w, t, cut, blob_slice(&places));
    st = wire_writer_status(w);
    if (st == ST_OK)
        st = compress_blob(wire_writer_bytes(w), &packed);
    if (st == ST_OK && packed.length > SYMTAB_PACKED_MAX)
        st = ST_TOO_BIG;
    if (st != ST_OK)
        goto out;

    *out = packed;
    packed = (struct blob){0};
out:
    blob_deinit(&packed);
    blob_deinit(&places);
    wire_writer_free(w);
    return st;
}

/* ---- decode ---- */

static enum status allocate(struct symtab *t, uint32_t count, size_t text_bytes)
{
    t->symbols = calloc(count > 0 ? count : 1, sizeof(*t->symbols));
    /* Keys ascend, so no table comes before: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    t->text = malloc(text_bytes + 1);
    if (t->symbols == NULL || t->text == NULL)
        return ST_NOMEM;
    t->capacity = count;
    t->text_capacity = text_bytes + 1;
    return ST_OK;
}

/* Starts ascend: a step of zero after the first, or one that wraps, is no table of ours. */
static void get_symbol(struct table_reader *rows, struct symtab *t)
{
    uint64_t last = t->count > 0 ? t->symbols[t->count - 1].start : 0;
    uint64_t step = table_get(rows, COLUMN_START);
    uint64_t size = table_get(rows, COLUMN_SIZE);
    struct slice name = table_get_text(rows, COLUMN_NAME, SYMTAB_NAME_MAX);

    if ((t->count > 0 && step == 0) || step > UINT64_MAX - last)
        wire_fail(&rows->column[COLUMN_START], ST_INVALID);
    if (name.length == 0) {
        wire_fail(&rows->column[COLUMN_NAME], ST_INVALID);
        return;
    }
    memcpy(t->text + t->text_length, name.bytes, name.length + 1);
    t->symbols[t->count++] = (struct symbol){last + step, size, (uint32_t)t->text_length};
    t->text_length += name.length + 1;
}

static void get_symbols(struct wire_reader *r, struct symtab *t)
{
    struct table_reader rows = table_read(r, SYMTAB_SYMBOLS_MAX, COLUMNS);
    const struct wire_reader *names = &rows.column[COLUMN_NAME];
    enum status st;

    if (wire_reader_status(r) != ST_OK)
        return;
    st = allocate(t, rows.rows, (size_t)(names->end - names->next));
    if (st != ST_OK) {
        wire_fail(r, st);
        return;
    }
    for (uint32_t i = 0; i < rows.rows; i++)
        get_symbol(&rows, t);
    table_finish(r, &rows);
}

static void get_places(struct wire_reader *r, bool wanted, struct places *out)
{
    struct slice packed = wire_get_bin(r, PLACES_PACKED_MAX);
    enum status st = ST_OK;

    if (wanted && wire_reader_status(r) == ST_OK)
        st = places_decode(packed, out);
    if (st != ST_OK)
        wire_fail(r, st);
}

static enum status decode_plain(struct slice plain, bool with_places, struct symtab *t)
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
        case KEY_SOURCES:
            t->sources = wire_get_u32(&r);
            break;
        case KEY_CUT:
            t->is_cut = wire_get_bool(&r);
            break;
        case KEY_PLACES:
            get_places(&r, with_places, &t->places);
            break;
        default:
            wire_skip(&r);
        }
    }
    if (t->symbols == NULL || layout == 0)
        wire_fail(&r, ST_INVALID);
    return wire_finish(&r);
}

static enum status decode(struct slice bytes, bool with_places, struct symtab *out)
{
    struct symtab t = {0};
    struct blob plain = {0};
    enum status st = ST_TOO_BIG;

    if (bytes.length <= SYMTAB_PACKED_MAX)
        st = decompress_blob(bytes, SYMTAB_PLAIN_MAX, &plain);
    if (st == ST_OK)
        st = decode_plain(blob_slice(&plain), with_places, &t);
    if (st == ST_OK) {
        *out = t;
        t = (struct symtab){0};
    }
    symtab_deinit(&t);
    blob_deinit(&plain);
    return st;
}

enum status symtab_decode(struct slice bytes, struct symtab *out)
{
    return decode(bytes, false, out);
}

enum status symtab_decode_all(struct slice bytes, struct symtab *out)
{
    return decode(bytes, true, out);
}
