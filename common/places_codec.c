/* places' bytes: zstd over {1: layout, 2: texts, 3: calls, 4: spans}; see schemas/README.md. */
#include <stdlib.h>
#include <string.h>

#include "common/places.h"
#include "common/table.h"

enum { LAYOUT = 1 };
enum { KEY_LAYOUT = 1, KEY_TEXTS, KEY_CALLS, KEY_SPANS, KEYS = 4, KEYS_MAX = 16 };
enum { TEXT_COLUMNS = 1 };
enum { CALL_PARENT, CALL_FUNCTION, CALL_FILE, CALL_LINE, CALL_COLUMNS };
enum { SPAN_START, SPAN_CALL, SPAN_FILE, SPAN_LINE, SPAN_COLUMNS };

/* ---- encode ---- */

static void put_texts(struct wire_writer *w, const struct places *p)
{
    struct table_writer rows = {0};

    for (uint32_t i = 0; i < p->text_count; i++)
        table_put_text(&rows, 0, p->text + p->texts[i]);
    table_write(w, &rows, p->text_count, TEXT_COLUMNS);
}

static void put_calls(struct wire_writer *w, const struct places *p)
{
    struct table_writer rows = {0};

    for (uint32_t i = 0; i < p->call_count; i++) {
        const struct place_call *call = &p->calls[i];

        table_put_delta(&rows, CALL_PARENT, call->parent);
        table_put(&rows, CALL_FUNCTION, call->function);
        table_put_delta(&rows, CALL_FILE, call->file);
        table_put_delta(&rows, CALL_LINE, call->line);
    }
    table_write(w, &rows, p->call_count, CALL_COLUMNS);
}

static void put_spans(struct wire_writer *w, const struct places *p)
{
    struct table_writer rows = {0};
    uint64_t last = 0;

    for (uint32_t i = 0; i < p->span_count; i++) {
        const struct place_span *span = &p->spans[i];

        table_put(&rows, SPAN_START, span->start - last);
        table_put_delta(&rows, SPAN_CALL, span->call);
        table_put_delta(&rows, SPAN_FILE, span->file);
        table_put_delta(&rows, SPAN_LINE, span->line);
        last = span->start;
    }
    table_write(w, &rows, p->span_count, SPAN_COLUMNS);
}

enum status places_encode(const struct places *p, struct blob *out)
{
    struct wire_writer *w = NULL;
    struct blob packed = {0};
    enum status st = wire_writer_new(PLACES_PLAIN_MAX, &w);

    if (st != ST_OK)
        return st;
    wire_put_map(w, KEYS);
    wire_put_u64(w, KEY_LAYOUT);
    wire_put_u64(w, LAYOUT);
    wire_put_u64(w, KEY_TEXTS);
    put_texts(w, p);
    wire_put_u64(w, KEY_CALLS);
    put_calls(w, p);
    wire_put_u64(w, KEY_SPANS);
    put_spans(w, p);
    st = wire_writer_status(w);
    if (st == ST_OK)
        st = compress_blob(wire_writer_bytes(w), &packed);
    wire_writer_free(w);
    if (st == ST_OK && packed.length > PLACES_PACKED_MAX) {
        blob_deinit(&packed);
        st = ST_TOO_BIG;
    }
    if (st == ST_OK)
        *out = packed;
    return st;
}

/* ---- decode ---- */

/* An array of `rows` items. */
static void *take_room(struct wire_reader *r, uint32_t rows, size_t bytes)
{
    void *items = calloc(rows > 0 ? rows : 1, bytes);

    if (items == NULL)
        wire_fail(r, ST_NOMEM);
    return items;
}

static void get_texts(struct wire_reader *r, struct places *p)
{
    struct table_reader rows = table_read(r, PLACES_TEXTS_MAX, TEXT_COLUMNS);
    size_t bytes = (size_t)(rows.column[0].end - rows.column[0].next);

    if (wire_reader_status(r) != ST_OK)
        return;
    /* Keys ascend, so none was there before: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    p->texts = take_room(r, rows.rows, sizeof(*p->texts));
    /* Keys ascend, so none was there before: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    p->text = take_room(r, (uint32_t)bytes, 1);
    if (wire_reader_status(r) != ST_OK)
        return;
    p->text_capacity = rows.rows;
    p->text_bytes_capacity = bytes;
    for (uint32_t i = 0; i < rows.rows; i++) {
        struct slice text = table_get_text(&rows, 0, PLACES_TEXT_MAX);

        if (text.length == 0) {
            wire_fail(r, ST_INVALID);
            break;
        }
        memcpy(p->text + p->text_bytes, text.bytes, text.length + 1);
        p->texts[p->text_count++] = (uint32_t)p->text_bytes;
        p->text_bytes += text.length + 1;
    }
    table_finish(r, &rows);
}

static void get_calls(struct wire_reader *r, struct places *p)
{
    struct table_reader rows = table_read(r, PLACES_CALLS_MAX, CALL_COLUMNS);

    if (wire_reader_status(r) != ST_OK)
        return;
    p->calls = take_room(r, rows.rows, sizeof(*p->calls));
    if (p->calls == NULL)
        return;
    /* Keys ascend, so none was there before: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    p->call_capacity = rows.rows;
    for (uint32_t i = 0; i < rows.rows; i++) {
        struct place_call call = {
            .parent = table_get_delta_u32(&rows, CALL_PARENT),
            .function = table_get_u32(&rows, CALL_FUNCTION),
            .file = table_get_delta_u32(&rows, CALL_FILE),
            .line = table_get_delta_u32(&rows, CALL_LINE),
        };

        if (call.parent > i || call.function == 0 || call.function > p->text_count ||
            call.file > p->text_count)
            wire_fail(r, ST_INVALID);
        p->calls[p->call_count++] = call;
    }
    table_finish(r, &rows);
}

/* Starts ascend: a step of zero after the first, or one that wraps, is none of ours. */
static void get_spans(struct wire_reader *r, struct places *p)
{
    struct table_reader rows = table_read(r, PLACES_SPANS_MAX, SPAN_COLUMNS);
    uint64_t last = 0;

    if (wire_reader_status(r) != ST_OK)
        return;
    p->spans = take_room(r, rows.rows, sizeof(*p->spans));
    if (p->spans == NULL)
        return;
    /* Keys ascend, so none was there before: NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
    p->span_capacity = rows.rows;
    for (uint32_t i = 0; i < rows.rows; i++) {
        uint64_t step = table_get(&rows, SPAN_START);
        struct place_span span = {
            .start = last + step,
            .call = table_get_delta_u32(&rows, SPAN_CALL),
            .file = table_get_delta_u32(&rows, SPAN_FILE),
            .line = table_get_delta_u32(&rows, SPAN_LINE),
        };

        if ((i > 0 && step == 0) || step > UINT64_MAX - last || span.call > p->call_count ||
            span.file > p->text_count)
            wire_fail(r, ST_INVALID);
        last = span.start;
        p->spans[p->span_count++] = span;
    }
    table_finish(r, &rows);
}

static enum status decode_plain(struct slice plain, struct places *p)
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
        case KEY_TEXTS:
            get_texts(&r, p);
            break;
        case KEY_CALLS:
            get_calls(&r, p);
            break;
        case KEY_SPANS:
            get_spans(&r, p);
            break;
        default:
            wire_skip(&r);
        }
    }
    if (layout == 0)
        wire_fail(&r, ST_INVALID);
    return wire_finish(&r);
}

enum status places_decode(struct slice bytes, struct places *out)
{
    struct places p = {0};
    struct blob plain = {0};
    enum status st = ST_TOO_BIG;

    if (bytes.length <= PLACES_PACKED_MAX)
        st = decompress_blob(bytes, PLACES_PLAIN_MAX, &plain);
    if (st == ST_OK)
        st = decode_plain(blob_slice(&plain), &p);
    if (st == ST_OK) {
        *out = p;
        p = (struct places){0};
    }
    places_deinit(&p);
    blob_deinit(&plain);
    return st;
}
