/* Every entry is visited once, from the top. That avoids the trap of dwarf_getscopes, which goes on
 * from an inlined function to the scopes of its source instead of its caller's. */
#include "common/symbols/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "common/symbols/code_spans.h"
#include "common/symbols/text_index.h"

/* Entries inside each other: namespaces, functions, blocks. Deeper ones are not looked at. */
enum { NESTING_MAX = 256 };

enum { RANGES_PER_CALL_MAX = 4096 };

struct reading {
    const struct code_map *code;
    struct places places;
    struct code_spans spans;
    struct text_index texts;
    uint64_t entries_left; /* damaged siblings could lead in circles */
    Dwarf_Files *files; /* of the current unit */
    size_t file_count;
};

struct scope { /* what an entry lies in */
    uint32_t call; /* innermost inlined call */
    uint32_t depth; /* and how many */
};

/* ---- lines ---- */

static enum status add_row(struct reading *r, Dwarf_Line *row)
{
    uint64_t offset;
    Dwarf_Addr address;
    bool is_end = false;
    int line = 0;
    uint32_t file = 0;
    enum status st;

    if (dwarf_lineaddr(row, &address) != 0 || dwarf_lineendsequence(row, &is_end) != 0)
        return ST_OK;
    if (is_end) /* lies just behind the code */
        return address > 0 && code_map_offset(r->code, address - 1, &offset)
                   ? code_spans_add_line(&r->spans, offset + 1, 0, 0)
                   : ST_OK;
    if (!code_map_offset(r->code, address, &offset) || dwarf_lineno(row, &line) != 0)
        return ST_OK;
    st = text_index_find(&r->texts, dwarf_linesrc(row, NULL, NULL), &file);
    return st == ST_OK ? code_spans_add_line(&r->spans, offset, file, (uint32_t)line) : st;
}

static enum status add_lines(struct reading *r, Dwarf_Die *unit)
{
    enum status st = ST_OK;
    Dwarf_Lines *rows;
    size_t count;

    if (dwarf_getsrclines(unit, &rows, &count) != 0)
        return ST_OK; /* a unit without lines, or damaged ones */
    for (size_t i = 0; i < count && st == ST_OK; i++)
        st = add_row(r, dwarf_onesrcline(rows, i));
    return st;
}

/* ---- inlined calls ---- */

static const char *text_attribute(Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;

    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

static const char *function_name(Dwarf_Die *die)
{
    const char *name = text_attribute(die, DW_AT_linkage_name);

    if (name == NULL)
        name = text_attribute(die, DW_AT_MIPS_linkage_name);
    return name != NULL ? name : text_attribute(die, DW_AT_name);
}

/* Of the entry itself: its source has another meaning. */
static uint32_t number_attribute(Dwarf_Die *die, unsigned int name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;

    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static enum status add_ranges(struct reading *r, Dwarf_Die *die, uint32_t call)
{
    enum status st = ST_OK;
    Dwarf_Addr base = 0, low = 0, high = 0;
    ptrdiff_t at = 0;

    for (uint32_t n = 0; n < RANGES_PER_CALL_MAX && st == ST_OK; n++) {
        uint64_t offset;

        at = dwarf_ranges(die, at, &base, &low, &high);
        if (at <= 0)
            break;
        if (high > low && code_map_offset(r->code, low, &offset))
            st = code_spans_add_range(&r->spans,
                                      (struct span_range){offset, offset + (high - low), call});
    }
    return st;
}

/* Makes `scope` that of the code of an inlined call. */
static enum status add_call(struct reading *r, Dwarf_Die *die, struct scope *scope)
{
    struct place_call call = {.parent = scope->call,
                              .line = number_attribute(die, DW_AT_call_line)};
    uint32_t file = number_attribute(die, DW_AT_call_file), id = 0;
    enum status st = text_index_find(&r->texts, function_name(die), &call.function);

    if (st == ST_OK && file < r->file_count)
        st = text_index_find(&r->texts, dwarf_filesrc(r->files, file, NULL, NULL), &call.file);
    if (st != ST_OK || call.function == 0)
        return st; /* without a name it belongs to what is around it */
    st = places_add_call(&r->places, call, &id);
    if (st != ST_OK)
        return st;
    *scope = (struct scope){id, scope->depth + 1};
    return add_ranges(r, die, id);
}

static bool may_hold_code(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_entry_point:
        return true;
    default:
        return false;
    }
}

static enum status visit(struct reading *r, Dwarf_Die *die, struct scope *scope)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
        *scope = (struct scope){0};
        return ST_OK;
    case DW_TAG_inlined_subroutine:
        return scope->depth + 1 < PLACES_DEPTH_MAX ? add_call(r, die, scope) : ST_OK;
    default:
        return ST_OK;
    }
}

/* Depth first, with its own stack: how deep entries lie in each other is the file's to say. */
static enum status walk(struct reading *r, Dwarf_Die *unit)
{
    Dwarf_Die stack[NESTING_MAX];
    struct scope scopes[NESTING_MAX] = {{0}};
    enum status st = ST_OK;
    uint32_t depth = 1;

    if (dwarf_child(unit, &stack[1]) != 0)
        return ST_OK;
    while (depth > 0 && st == ST_OK && r->entries_left-- > 0) {
        Dwarf_Die *die = &stack[depth];
        struct scope scope = scopes[depth - 1];

        if (may_hold_code(dwarf_tag(die))) {
            st = visit(r, die, &scope);
            scopes[depth] = scope;
            if (st == ST_OK && depth + 1 < NESTING_MAX && dwarf_haschildren(die) > 0 &&
                dwarf_child(die, &stack[depth + 1]) == 0) {
                depth++;
                continue;
            }
        }
        while (depth > 0 && dwarf_siblingof(&stack[depth], &stack[depth]) != 0)
            depth--;
    }
    return st;
}

/* ---- all units ---- */

static enum status add_unit(struct reading *r, Dwarf_Die *unit)
{
    enum status st;

    r->texts.last = NULL; /* libdw's texts are compared by address: within one unit only */
    if (dwarf_getsrcfiles(unit, &r->files, &r->file_count) != 0)
        r->file_count = 0;
    st = add_lines(r, unit);
    return st == ST_OK ? walk(r, unit) : st;
}

static enum status add_units(struct reading *r, Dwarf *dwarf)
{
    enum status st = ST_OK;
    Dwarf_CU *cu = NULL;
    Dwarf_Die unit;

    while (st == ST_OK && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
        if (dwarf_tag(&unit) == DW_TAG_compile_unit)
            st = add_unit(r, &unit);
    return st;
}

static enum status read_all(struct reading *r, Dwarf *dwarf, bool *is_cut)
{
    enum status st = add_units(r, dwarf), merged;

    if (st == ST_OK || st == ST_FULL) {
        merged = code_spans_merge(&r->spans, &r->places);
        if (merged != ST_OK)
            st = merged;
    }
    *is_cut = st == ST_FULL;
    if (st == ST_OK || st == ST_FULL)
        return r->places.span_count > 0 ? ST_OK : ST_NOT_FOUND;
    return st;
}

static bool is_within_limits(struct elf_file *f)
{
    return elf_file_section_bytes(f, ".debug_info") <= DWARF_INFO_BYTES_MAX &&
           elf_file_section_bytes(f, ".debug_line") <= DWARF_LINE_BYTES_MAX;
}

enum status dwarf_read_places(struct elf_file *f, struct elf_file *alternate,
                              const struct code_map *code, struct places *out, bool *is_cut)
{
    struct reading r = {.code = code};
    Dwarf *dwarf = NULL, *other = NULL;
    enum status st = ST_INVALID;
    bool cut = false;

    if (elf_file_section_bytes(f, ".debug_info") == 0)
        return ST_NOT_FOUND;
    if (!is_within_limits(f) || (alternate != NULL && !is_within_limits(alternate)))
        return ST_TOO_BIG;
    r.texts.places = &r.places;
    r.entries_left = DWARF_INFO_BYTES_MAX; /* none is smaller than a byte */
    dwarf = dwarf_begin_elf(elf_file_handle(f), DWARF_C_READ, NULL);
    if (dwarf == NULL)
        goto out;
    if (alternate != NULL) {
        other = dwarf_begin_elf(elf_file_handle(alternate), DWARF_C_READ, NULL);
        if (other == NULL)
            goto out;
        dwarf_setalt(dwarf, other);
    }
    st = read_all(&r, dwarf, &cut);
    if (st == ST_OK) {
        *out = r.places;
        *is_cut = cut;
        r.places = (struct places){0};
    }
out:
    dwarf_end(dwarf); /* NULL is fine */
    dwarf_end(other);
    text_index_deinit(&r.texts);
    code_spans_deinit(&r.spans);
    places_deinit(&r.places);
    return st;
}
