#include "common/symbols/extract.h"

#include <unistd.h>

#include "common/symbols/debug_file.h"
#include "common/symbols/dwarf.h"
#include "common/symbols/elf.h"
#include "common/symbols/gopclntab.h"
#include "common/symbols/xz.h"

/* A full table is no failure: what fits is better than nothing. */
static enum status settle(enum status st, struct symtab *t)
{
    if (st != ST_FULL)
        return st;
    t->is_cut = true;
    return ST_OK;
}

/* Adds the symbols of another file than the binary itself, and says `source` of them. */
static enum status add_foreign(struct elf_file *f, const struct code_map *code, uint32_t source,
                               struct symtab *t)
{
    uint32_t before = t->count, sources = t->sources;
    enum status st = elf_add_symbols(f, code, t);

    t->sources = sources;
    if (t->count > before)
        t->sources |= source;
    return st;
}

/* The names that Fedora and its kin leave in stripped binaries: an ELF image in xz. */
static enum status add_debugdata(struct elf_file *f, const struct code_map *code, struct symtab *t)
{
    struct elf_section packed;
    struct elf_file *inner = NULL;
    struct blob image = {0};
    enum status st;

    if (!elf_file_section(f, ".gnu_debugdata", EXTRACT_DEBUGDATA_MAX, &packed))
        return ST_OK;
    st = xz_unpack(packed.bytes, EXTRACT_DEBUGDATA_MAX, &image);
    if (st == ST_OK)
        st = elf_file_open_image(blob_slice(&image), &inner);
    if (st == ST_OK)
        st = add_foreign(inner, code, SYMTAB_FROM_DEBUGDATA, t);
    elf_file_close(inner);
    blob_deinit(&image);
    return st == ST_NOMEM ? st : ST_OK; /* damaged: there are the other sources */
}

static bool find_gopclntab(struct elf_file *f, struct elf_section *out)
{
    return elf_file_section(f, ".gopclntab", EXTRACT_GOPCLNTAB_MAX, out) ||
           elf_file_section(f, ".data.rel.ro.gopclntab", EXTRACT_GOPCLNTAB_MAX, out);
}

static enum status add_gopclntab(struct elf_file *f, const struct code_map *code, struct symtab *t)
{
    const struct go_text text = {elf_file_section_address(f, ".text"),
                                 elf_file_section_bytes(f, ".text")};
    struct elf_section table;
    uint32_t before = t->count;
    enum status st;

    if (!find_gopclntab(f, &table))
        return ST_OK;
    st = settle(gopclntab_read(table.bytes, text, code, t), t);
    if (t->count > before)
        t->sources |= SYMTAB_FROM_GOPCLNTAB;
    return st == ST_NOMEM ? st : ST_OK;
}

/* `f` is the binary or its debug file; `code` the binary's. */
static enum status add_places(struct elf_file *f, const struct code_map *code, const char *root,
                              struct symtab *t)
{
    struct elf_file *alternate = NULL;
    enum status st = ST_OK;
    int fd = -1;
    bool is_cut = false;

    if (root != NULL)
        st = debug_file_open_alternate(root, f, &fd);
    else if (elf_file_section_bytes(f, ".gnu_debugaltlink") > 0)
        st = ST_NOT_FOUND; /* half of the entries elsewhere: names would be missing */
    if (st == ST_OK && fd >= 0)
        st = elf_file_open(fd, &alternate);
    if (st == ST_OK)
        st = dwarf_read_places(f, alternate, code, &t->places, &is_cut);
    if (st == ST_OK)
        t->sources |= SYMTAB_FROM_DWARF;
    if (is_cut || st == ST_TOO_BIG)
        t->is_cut = true;
    elf_file_close(alternate);
    if (fd >= 0)
        close(fd);
    return st;
}

static enum status add_own(struct elf_file *f, struct symtab *t)
{
    const struct code_map *code = elf_file_code(f);
    enum status st = elf_add_symbols(f, code, t);

    if (st == ST_OK)
        st = add_debugdata(f, code, t);
    if (st == ST_OK && (t->sources & SYMTAB_FROM_SYMTAB) == 0)
        st = add_gopclntab(f, code, t);
    return st;
}

static bool is_complete(struct elf_file *f, const struct symtab *t, bool places)
{
    return (t->sources & SYMTAB_FROM_SYMTAB) != 0 &&
           (!places || elf_file_section_bytes(f, ".debug_info") > 0);
}

/* What a separate debug file adds; without one there is what the binary has. */
static enum status add_debug_file(int fd, struct elf_file *f, const struct extract_options *options,
                                  struct symtab *t)
{
    const struct code_map *code = elf_file_code(f);
    struct elf_file *debug = NULL;
    int debug_fd = -1;
    enum status st = debug_file_open(options->debug_root, fd, f, &debug_fd);

    if (st == ST_OK)
        st = elf_file_open(debug_fd, &debug);
    if (st == ST_OK)
        st = add_foreign(debug, code, SYMTAB_FROM_SYMTAB | SYMTAB_FROM_DEBUG_FILE, t);
    if (st == ST_OK && options->places && (t->sources & SYMTAB_FROM_DWARF) == 0 &&
        add_places(debug, code, options->debug_root, t) == ST_OK)
        t->sources |= SYMTAB_FROM_DEBUG_FILE;
    elf_file_close(debug);
    if (debug_fd >= 0)
        close(debug_fd);
    return st == ST_NOMEM ? st : ST_OK;
}

enum status extract_symbols(int fd, const struct extract_options *options, struct symtab *out)
{
    struct symtab t = {0};
    struct elf_file *f = NULL;
    enum status st = elf_file_open(fd, &f);

    if (st != ST_OK)
        return st;
    st = add_own(f, &t);
    if (st == ST_OK && options->places)
        (void)add_places(f, elf_file_code(f), options->debug_root, &t); /* else: names alone */
    if (st == ST_OK && options->debug_root != NULL && !is_complete(f, &t, options->places))
        st = add_debug_file(fd, f, options, &t);
    if (st == ST_OK && t.count == 0 && t.places.span_count == 0)
        st = ST_NOT_FOUND;
    if (st == ST_OK) {
        symtab_sort(&t);
        *out = t;
        t = (struct symtab){0};
    }
    symtab_deinit(&t);
    elf_file_close(f);
    return st;
}
