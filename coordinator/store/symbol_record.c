#include "coordinator/store/symbol_record.h"

#include <string.h>

enum symbol_key {
    SYMBOL_KEY_ORIGIN = 1,
    SYMBOL_KEY_FROM,
    SYMBOL_KEY_NAME,
    SYMBOL_KEY_STORED,
    SYMBOL_KEY_SYMBOLS,
    SYMBOL_KEY_SOURCES,
    SYMBOL_KEY_GRADE,
    SYMBOL_KEYS = SYMBOL_KEY_GRADE,
    PAIRS_MAX = 64,
};

const char *symbol_origin_name(enum symbol_origin o)
{
    switch (o) {
    case SYMBOL_ORIGIN_NONE:
        return "unknown";
#define X(number, NAME, text) \
    case SYMBOL_FROM_##NAME:  \
        return text;
        SYMBOL_ORIGIN_LIST(X)
#undef X
    }
    return "unknown";
}

bool symbol_record_is_better(const struct symbol_record *a, const struct symbol_record *than)
{
    return a->grade != than->grade ? a->grade > than->grade : a->symbols > than->symbols;
}

enum status symbol_record_encode(const struct symbol_record *r, struct wire_writer *w)
{
    wire_writer_reset(w);
    wire_put_map(w, SYMBOL_KEYS);
    wire_put_u64(w, SYMBOL_KEY_ORIGIN);
    wire_put_u64(w, r->origin);
    wire_put_u64(w, SYMBOL_KEY_FROM);
    wire_put_str(w, r->from);
    wire_put_u64(w, SYMBOL_KEY_NAME);
    wire_put_str(w, r->name);
    wire_put_u64(w, SYMBOL_KEY_STORED);
    wire_put_u64(w, r->stored.ns);
    wire_put_u64(w, SYMBOL_KEY_SYMBOLS);
    wire_put_u64(w, r->symbols);
    wire_put_u64(w, SYMBOL_KEY_SOURCES);
    wire_put_u64(w, r->sources);
    wire_put_u64(w, SYMBOL_KEY_GRADE);
    wire_put_u64(w, r->grade);
    return wire_writer_status(w);
}

static void get_text(struct wire_reader *r, char *out, size_t size)
{
    struct slice text = wire_get_str(r, (uint32_t)size - 1);

    if (wire_reader_status(r) != ST_OK)
        return;
    memcpy(out, text.bytes, text.length);
    out[text.length] = '\0';
}

/* A number at most `max`: of an origin or a grade that is not known here, nothing is made up. */
static uint32_t get_number(struct wire_reader *r, uint64_t max)
{
    uint64_t number = wire_get_u64(r);

    if (number > max)
        wire_fail(r, ST_UNSUPPORTED);
    return (uint32_t)number;
}

static void get_field(struct wire_reader *r, uint64_t key, struct symbol_record *out)
{
    switch (key) {
    case SYMBOL_KEY_ORIGIN:
        out->origin = (enum symbol_origin)get_number(r, SYMBOL_FROM_DEBUGINFOD);
        break;
    case SYMBOL_KEY_FROM:
        get_text(r, out->from, sizeof(out->from));
        break;
    case SYMBOL_KEY_NAME:
        get_text(r, out->name, sizeof(out->name));
        break;
    case SYMBOL_KEY_STORED:
        out->stored.ns = wire_get_u64(r);
        break;
    case SYMBOL_KEY_SYMBOLS:
        out->symbols = get_number(r, SYMTAB_SYMBOLS_MAX);
        break;
    case SYMBOL_KEY_SOURCES:
        out->sources = get_number(r, UINT32_MAX);
        break;
    case SYMBOL_KEY_GRADE:
        out->grade = (enum symtab_grade)get_number(r, SYMTAB_GRADE_PLACES);
        break;
    default:
        wire_skip(r);
    }
}

enum status symbol_record_decode(struct slice bytes, struct symbol_record *out)
{
    struct symbol_record record = {0};
    struct wire_reader r;
    uint64_t key = 0;
    enum status st;

    wire_reader_init(&r, bytes);
    for (uint32_t n = wire_get_map(&r, PAIRS_MAX); n > 0 && wire_key(&r, &key); n--)
        get_field(&r, key, &record);
    st = wire_finish(&r);
    if (st == ST_OK)
        *out = record;
    return st;
}
