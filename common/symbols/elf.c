#include "common/symbols/elf.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <unistd.h>

#include "common/symbols/hash.h"
#include "common/symbols/notes.h"

enum {
    SECTIONS_MAX = 1 << 20, /* libelf allocates some 200 bytes for each declared one */
    SEGMENTS_MAX = 128, /* executable ones; real files have one or two */
    NOTE_BYTES_MAX = 1 << 20, /* in one segment */
};
#define SYMBOL_BYTES_MAX (SYMTAB_SYMBOLS_MAX * sizeof(Elf64_Sym))

struct source { /* a file, or an image in memory when fd is negative */
    int fd;
    struct slice image;
};

struct segment {
    uint64_t address, bytes, offset;
};

struct segments {
    uint32_t count;
    struct segment items[SEGMENTS_MAX];
};

static bool read_at(const struct source *s, uint64_t offset, void *out, size_t length)
{
    if (s->fd >= 0)
        return offset <= INT64_MAX && pread(s->fd, out, length, (off_t)offset) == (ssize_t)length;
    if (offset > s->image.length || length > s->image.length - offset)
        return false;
    memcpy(out, s->image.bytes + offset, length);
    return true;
}

/* How many sections there are where the header's 16 bits are too few: see elf(5), e_shnum. */
static uint64_t extended_sections(const struct source *s, bool wide, uint64_t table)
{
    Elf64_Shdr first64;
    Elf32_Shdr first32;

    if (table == 0)
        return 0;
    if (wide)
        return read_at(s, table, &first64, sizeof(first64)) ? first64.sh_size : 0;
    return read_at(s, table, &first32, sizeof(first32)) ? first32.sh_size : 0;
}

/* What libelf would not refuse by itself: byte orders that no running program has, and so many
 * sections that only the room for them would exhaust the memory. */
static bool header_is_sane(const struct source *s)
{
    Elf64_Ehdr h64;
    Elf32_Ehdr h32;
    unsigned char ident[EI_NIDENT];
    uint64_t sections;

    if (!read_at(s, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
        ident[EI_DATA] != ELFDATA2LSB)
        return false;
    if (ident[EI_CLASS] == ELFCLASS64 && read_at(s, 0, &h64, sizeof(h64)))
        sections = h64.e_shnum != 0 ? h64.e_shnum : extended_sections(s, true, h64.e_shoff);
    else if (ident[EI_CLASS] == ELFCLASS32 && read_at(s, 0, &h32, sizeof(h32)))
        sections = h32.e_shnum != 0 ? h32.e_shnum : extended_sections(s, false, h32.e_shoff);
    else
        return false;
    return sections <= SECTIONS_MAX;
}

/* Read, not mapped: a file that shrinks under a mapping would kill us. */
static Elf *begin(const struct source *s)
{
    Elf *elf;

    if (!header_is_sane(s) || elf_version(EV_CURRENT) == EV_NONE)
        return NULL;
    if (s->fd >= 0)
        elf = elf_begin(s->fd, ELF_C_READ, NULL);
    else /* libelf takes a plain pointer but does not write in read mode */
        elf = elf_memory((char *)(uintptr_t)s->image.bytes, s->image.length);
    if (elf != NULL && elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        return NULL;
    }
    return elf;
}

static bool note_in_segment(Elf *elf, const GElf_Phdr *segment, const char *owner, uint32_t type,
                            struct slice *out)
{
    Elf_Data *data;

    if (segment->p_type != PT_NOTE || segment->p_filesz > NOTE_BYTES_MAX ||
        segment->p_offset > INT64_MAX)
        return false;
    data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz, ELF_T_BYTE);
    if (data == NULL || data->d_buf == NULL)
        return false;
    return notes_find((struct slice){data->d_buf, data->d_size}, segment->p_align == 8 ? 8 : 4,
                      owner, type, out);
}

static bool find_note(Elf *elf, const char *owner, uint32_t type, struct slice *out)
{
    size_t count = 0;
    GElf_Phdr segment;

    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment) != NULL; i++)
        if (note_in_segment(elf, &segment, owner, type, out))
            return true;
    return false;
}

static enum status build_id_of(const struct source *s, struct build_id *out)
{
    Elf *elf = begin(s);
    struct slice note;
    enum status st = ST_INVALID;

    if (elf == NULL)
        return ST_INVALID;
    if (find_note(elf, "GNU", NOTE_GNU_BUILD_ID, &note))
        st = build_id_from_bytes(note.bytes, note.length, out);
    if (st != ST_OK && find_note(elf, "Go", NOTE_GO_BUILD_ID, &note))
        st = hash_bytes(note, out);
    if (st != ST_OK)
        st = s->fd >= 0 ? hash_file(s->fd, out) : hash_bytes(s->image, out);
    elf_end(elf);
    return st;
}

/* Symbols have addresses; samples have offsets in the file. The executable segments tell how the
 * two are related, whatever the file's type and alignment. */
static void collect_segments(Elf *elf, struct segments *out)
{
    size_t count = 0;
    GElf_Phdr p;

    out->count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && out->count < SEGMENTS_MAX; i++) {
        if (gelf_getphdr(elf, (int)i, &p) == NULL)
            return;
        if (p.p_type == PT_LOAD && (p.p_flags & PF_X) != 0)
            out->items[out->count++] = (struct segment){p.p_vaddr, p.p_filesz, p.p_offset};
    }
}

static bool offset_of(const struct segments *segments, uint64_t address, uint64_t *out)
{
    for (uint32_t i = 0; i < segments->count; i++) {
        const struct segment *s = &segments->items[i];

        if (address >= s->address && address - s->address < s->bytes) {
            *out = address - s->address + s->offset;
            return true;
        }
    }
    return false;
}

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
                               const struct segments *segments, struct symtab *t)
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
        if (!is_function(&symbol) || !offset_of(segments, symbol.st_value, &offset))
            continue;
        name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (name != NULL)
            st = add_symbol(t, offset, symbol.st_size, name);
    }
    return st;
}

static enum status add_all_sections(Elf *elf, struct symtab *t)
{
    enum status st = ST_OK;
    struct segments segments;
    Elf_Scn *scn = NULL;
    GElf_Shdr header;

    collect_segments(elf, &segments);
    while (st == ST_OK && (scn = elf_nextscn(elf, scn)) != NULL)
        if (gelf_getshdr(scn, &header) != NULL &&
            (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
            st = add_section(elf, scn, &header, &segments, t);
    return st == ST_FULL ? ST_OK : st; /* what fits is better than nothing */
}

static enum status symbols_of(const struct source *s, struct symtab *out)
{
    Elf *elf = begin(s);
    struct symtab t = {0};
    enum status st;

    if (elf == NULL)
        return ST_INVALID;
    st = add_all_sections(elf, &t);
    if (st == ST_OK) {
        symtab_sort(&t);
        *out = t;
    } else {
        symtab_deinit(&t);
    }
    elf_end(elf);
    return st;
}

enum status elf_build_id(int fd, struct build_id *out)
{
    return build_id_of(&(struct source){.fd = fd}, out);
}

enum status elf_symbols(int fd, struct symtab *out)
{
    return symbols_of(&(struct source){.fd = fd}, out);
}

enum status elf_image_build_id(struct slice image, struct build_id *out)
{
    return build_id_of(&(struct source){.fd = -1, .image = image}, out);
}

enum status elf_image_symbols(struct slice image, struct symtab *out)
{
    return symbols_of(&(struct source){.fd = -1, .image = image}, out);
}
