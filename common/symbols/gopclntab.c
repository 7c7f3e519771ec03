/* The layouts are those of Go's own reader, debug/gosym/pclntab.go. */
#include "common/symbols/gopclntab.h"

#include <stdbool.h>
#include <string.h>

#define MAGIC_1_2 0xfffffffbU
#define MAGIC_1_16 0xfffffffaU
#define MAGIC_1_18 0xfffffff0U
#define MAGIC_1_20 0xfffffff1U

enum { HEADER_BYTES = 8 }; /* magic, two zeros, the instructions' quantum, the size of a pointer */

enum { NAME_SCAN_MAX = 64 << 10 }; /* a name without end within this is none */

/* Words of pointer size that follow the header. */
enum { COUNT_1_2 = 0, TABLE_1_2 = 1 };
enum { COUNT_1_16 = 0, NAMES_1_16 = 2, TABLE_1_16 = 6 };
enum { COUNT_1_18 = 0, TEXT_1_18 = 2, NAMES_1_18 = 3, TABLE_1_18 = 7 };

struct pclntab {
    struct slice bytes;
    uint32_t pointer_bytes, field_bytes; /* a field: one of the two of an entry */
    uint64_t count;
    uint64_t names; /* offset of the text that names are offsets in */
    uint64_t entries; /* offset of the table of functions: address, offset of the function */
    uint64_t functions; /* what a function's offset is counted from */
    uint64_t base; /* what an address is counted from */
};

static bool get(const struct pclntab *p, uint64_t offset, uint32_t bytes, uint64_t *out)
{
    uint64_t value = 0;

    if (offset > p->bytes.length || bytes > p->bytes.length - offset)
        return false;
    for (uint32_t i = 0; i < bytes; i++)
        value |= (uint64_t)p->bytes.bytes[offset + i] << (8 * i);
    *out = value;
    return true;
}

static bool get_word(const struct pclntab *p, uint32_t index, uint64_t *out)
{
    return get(p, HEADER_BYTES + (uint64_t)index * p->pointer_bytes, p->pointer_bytes, out);
}

static bool locate_1_2(struct pclntab *p)
{
    p->entries = HEADER_BYTES + (uint64_t)TABLE_1_2 * p->pointer_bytes;
    p->field_bytes = p->pointer_bytes;
    return get_word(p, COUNT_1_2, &p->count);
}

static bool locate_1_16(struct pclntab *p)
{
    p->field_bytes = p->pointer_bytes;
    if (!get_word(p, COUNT_1_16, &p->count) || !get_word(p, NAMES_1_16, &p->names) ||
        !get_word(p, TABLE_1_16, &p->entries))
        return false;
    p->functions = p->entries;
    return true;
}

/* The header's start of the text is the truth in a binary at fixed addresses, where C code may come
 * before Go's in .text; in a position-independent one it is for the loader to fill in. */
static bool locate_1_18(struct pclntab *p, struct go_text text)
{
    uint64_t start = 0;

    p->field_bytes = 4;
    if (!get_word(p, COUNT_1_18, &p->count) || !get_word(p, TEXT_1_18, &start) ||
        !get_word(p, NAMES_1_18, &p->names) || !get_word(p, TABLE_1_18, &p->entries))
        return false;
    p->functions = p->entries;
    p->base = start >= text.address && start - text.address < text.bytes ? start : text.address;
    return true;
}

static bool locate(struct pclntab *p, struct go_text text)
{
    uint64_t magic = 0, pointer = 0;

    if (!get(p, 0, 4, &magic) || !get(p, 7, 1, &pointer) || (pointer != 4 && pointer != 8))
        return false;
    p->pointer_bytes = (uint32_t)pointer;
    switch ((uint32_t)magic) {
    case MAGIC_1_2:
        return locate_1_2(p);
    case MAGIC_1_16:
        return locate_1_16(p);
    case MAGIC_1_18:
    case MAGIC_1_20:
        return locate_1_18(p, text);
    default:
        return false;
    }
}

/* A function begins with its entry, then the offset of its name. */
static const char *name_of(const struct pclntab *p, uint64_t function)
{
    uint64_t offset, name = 0, left;

    if (function > p->bytes.length || p->functions > p->bytes.length)
        return NULL;
    offset = p->functions + function + p->field_bytes;
    if (!get(p, offset, 4, &name) || p->names > p->bytes.length)
        return NULL;
    name += p->names;
    if (name >= p->bytes.length)
        return NULL;
    left = p->bytes.length - name;
    if (memchr(p->bytes.bytes + name, '\0', left < NAME_SCAN_MAX ? left : NAME_SCAN_MAX) == NULL)
        return NULL;
    return (const char *)p->bytes.bytes + name;
}

/* The address of entry `i`; the one after the last is the end of the last function. */
static bool address_of(const struct pclntab *p, uint64_t i, uint64_t *out)
{
    if (!get(p, p->entries + i * 2 * p->field_bytes, p->field_bytes, out))
        return false;
    *out += p->base;
    return true;
}

static enum status add_function(const struct pclntab *p, uint64_t i, const struct code_map *code,
                                struct symtab *t)
{
    uint64_t start = 0, end = 0, function = 0, offset = 0;
    const char *name;
    enum status st;

    if (!address_of(p, i, &start) || !address_of(p, i + 1, &end) ||
        !get(p, p->entries + (2 * i + 1) * p->field_bytes, p->field_bytes, &function))
        return ST_INVALID;
    name = name_of(p, function);
    if (name == NULL || end <= start || !code_map_offset(code, start, &offset))
        return ST_OK;
    st = symtab_add(t, offset, end - start, name);
    return st == ST_INVALID ? ST_OK : st; /* without a name */
}

enum status gopclntab_read(struct slice bytes, struct go_text text, const struct code_map *code,
                           struct symtab *t)
{
    struct pclntab p = {.bytes = bytes};
    enum status st = ST_OK;

    if (!locate(&p, text) || p.entries > bytes.length ||
        p.count > (bytes.length - p.entries) / (2 * (uint64_t)p.field_bytes))
        return ST_INVALID;
    for (uint64_t i = 0; i < p.count && st == ST_OK; i++)
        st = add_function(&p, i, code, t);
    return st;
}
