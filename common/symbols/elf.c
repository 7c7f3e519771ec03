#include "common/symbols/elf.h"

#include <gelf.h>
#include <libelf.h>
#include <string.h>

#include "common/symbols/hash.h"
#include "common/symbols/notes.h"

#define SYMBOL_BYTES_MAX (SYMTAB_SYMBOLS_MAX * sizeof(Elf64_Sym))

/* ---- identity ---- */

enum status elf_gnu_build_id(struct elf_file *f, struct build_id *out)
{
    struct slice note;

    if (!elf_file_note(f, "GNU", NOTE_GNU_BUILD_ID, &note))
        return ST_NOT_FOUND;
    return build_id_from_bytes(note.bytes, note.length, out);
}

static enum status noted_build_id(struct elf_file *f, struct build_id *out)
{
    enum status st = elf_gnu_build_id(f, out);
    struct slice note;

    if (st != ST_OK && elf_file_note(f, "Go", NOTE_GO_BUILD_ID, &note))
        st = hash_bytes(note, out);
    return st;
}

enum status elf_build_id(int fd, struct build_id *out)
{
    struct elf_file *f = NULL;
    enum status st = elf_file_open(fd, &f);

    if (st != ST_OK)
        return st;
    st = noted_build_id(f, out);
    elf_file_close(f);
    return st == ST_OK ? ST_OK : hash_file(fd, out);
}

enum status elf_image_build_id(struct slice image, struct build_id *out)
{
    struct elf_file *f = NULL;
    enum status st = elf_file_open_image(image, &f);

    if (st != ST_OK)
        return st;
    st = noted_build_id(f, out);
    elf_file_close(f);
    return st == ST_OK ? ST_OK : hash_bytes(image, out);
}

/* ---- symbols ---- */

static bool is_function(const GElf_Sym *symbol)
{
    int type = GELF_ST_TYPE(symbol->st_info);

    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/* Versions ("memcpy@@GLIBC_2.14") are no part of the name. */
static enum status add_symbol(struct symtab *t, uint64_t offset, uint64_t size, const char *name)
{
    char plain[SYMTAB_NAME_MAX + 1];
    size_t length = strcspn(name, "@");

    if (length == 0)
        return ST_OK;
    if (name[length] == '\0' || length > SYMTAB_NAME_MAX)
        return symtab_add(t, offset, size, name);
    memcpy(plain, name, length);
    plain[length] = '\0';
    return symtab_add(t, offset, size, plain);
}

static bool strings_are_bounded(Elf *elf, size_t section)
{
    Elf_Scn *scn = elf_getscn(elf, section);
    GElf_Shdr header;

    return scn != NULL && gelf_getshdr(scn, &header) != NULL && header.sh_type == SHT_STRTAB &&
           header.sh_size <= SYMTAB_PLAIN_MAX;
}

static enum status add_section(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header,
                               const struct code_map *code, struct symtab *t)
{
    size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    enum status st = ST_OK;
    Elf_Data *data;
    GElf_Sym symbol;

    if (header->sh_size > SYMBOL_BYTES_MAX || !strings_are_bounded(elf, header->sh_link))
        return ST_OK; /* no table of ours: the file has fewer symbols, or none */
    data = elf_getdata(scn, NULL);
    if (data == NULL || entry == 0)
        return ST_OK;
    for (size_t i = 0; i < data->d_size / entry && st == ST_OK; i++) {
        const char *name;
        uint64_t offset;

        if (gelf_getsym(data, (int)i, &symbol) == NULL)
            break;
        if (!is_function(&symbol) || !code_map_offset(code, symbol.st_value, &offset))
            continue;
        name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name != NULL)
            st = add_symbol(t, offset, symbol.st_size, name);
    }
    return st;
}

/* The bit of the table that it is, 0 for sections that are none. */
static uint32_t source_of(const GElf_Shdr *header)
{
    if (header->sh_type == SHT_SYMTAB)
        return SYMTAB_FROM_SYMTAB;
    return header->sh_type == SHT_DYNSYM ? SYMTAB_FROM_DYNSYM : 0;
}

enum status elf_add_symbols(struct elf_file *f, const struct code_map *code, struct symtab *t)
{
    Elf *elf = elf_file_handle(f);
    enum status st = ST_OK;
    Elf_Scn *scn = NULL;
    GElf_Shdr header;

    while (st == ST_OK && (scn = elf_nextscn(elf, scn)) != NULL) {
        uint32_t before = t->count, source;

        if (gelf_getshdr(scn, &header) == NULL || (source = source_of(&header)) == 0)
            continue;
        st = add_section(elf, scn, &header, code, t);
        if (t->count > before)
            t->sources |= source;
    }
    if (st != ST_FULL)
        return st;
    t->is_cut = true; /* what fits is better than nothing */
    return ST_OK;
}

/* Closes `f`. */
static enum status symbols_of(struct elf_file *f, struct symtab *out)
{
    struct symtab t = {0};
    enum status st = elf_add_symbols(f, elf_file_code(f), &t);

    if (st == ST_OK) {
        symtab_sort(&t);
        *out = t;
    } else {
        symtab_deinit(&t);
    }
    elf_file_close(f);
    return st;
}

enum status elf_symbols(int fd, struct symtab *out)
{
    struct elf_file *f = NULL;
    enum status st = elf_file_open(fd, &f);

    return st == ST_OK ? symbols_of(f, out) : st;
}

enum status elf_image_symbols(struct slice image, struct symtab *out)
{
    struct elf_file *f = NULL;
    enum status st = elf_file_open_image(image, &f);

    return st == ST_OK ? symbols_of(f, out) : st;
}
