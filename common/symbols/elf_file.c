#include "common/symbols/elf_file.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/symbols/notes.h"

enum {
    SECTIONS_MAX = 1 << 20, /* libelf allocates some 200 bytes for each declared one */
    NOTE_BYTES_MAX = 1 << 20, /* in one segment */
};

struct elf_file {
    int fd; /* -1: an image in memory */
    struct slice image;
    Elf *elf;
    struct code_map code;
};

/* ---- is it safe to open? ---- */

static bool read_at(const struct elf_file *f, uint64_t offset, void *out, size_t length)
{
    if (f->fd >= 0)
        return offset <= INT64_MAX && pread(f->fd, out, length, (off_t)offset) == (ssize_t)length;
    if (offset > f->image.length || length > f->image.length - offset)
        return false;
    memcpy(out, f->image.bytes + offset, length);
    return true;
}

/* How many sections there are where the header's 16 bits are too few: see elf(5), e_shnum. */
static uint64_t extended_sections(const struct elf_file *f, bool wide, uint64_t table)
{
    Elf64_Shdr first64;
    Elf32_Shdr first32;

    if (table == 0)
        return 0;
    if (wide)
        return read_at(f, table, &first64, sizeof(first64)) ? first64.sh_size : 0;
    return read_at(f, table, &first32, sizeof(first32)) ? first32.sh_size : 0;
}

/* What libelf would not refuse by itself: byte orders that no running program has, and so many
 * sections that only the room for them would exhaust the memory. */
static bool header_is_sane(const struct elf_file *f)
{
    Elf64_Ehdr h64;
    Elf32_Ehdr h32;
    unsigned char ident[EI_NIDENT];
    uint64_t sections;

    if (!read_at(f, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
        ident[EI_DATA] != ELFDATA2LSB)
        return false;
    if (ident[EI_CLASS] == ELFCLASS64 && read_at(f, 0, &h64, sizeof(h64)))
        sections = h64.e_shnum != 0 ? h64.e_shnum : extended_sections(f, true, h64.e_shoff);
    else if (ident[EI_CLASS] == ELFCLASS32 && read_at(f, 0, &h32, sizeof(h32)))
        sections = h32.e_shnum != 0 ? h32.e_shnum : extended_sections(f, false, h32.e_shoff);
    else
        return false;
    return sections <= SECTIONS_MAX;
}

/* ---- where is the code? ---- */

/* Where a linker puts a segment's content: after the content before it, at the first offset that is
 * the same as its address, modulo the alignment. */
static uint64_t laid_out(uint64_t end, const GElf_Phdr *p)
{
    uint64_t align = p->p_align > 1 ? p->p_align : 1;

    return end + (p->p_vaddr % align + align - end % align) % align;
}

/* A debug file keeps how much memory its segments take, but not their content and its offset. */
static void collect_code(Elf *elf, struct code_map *out)
{
    uint64_t end = 0; /* of the content of the segments so far */
    size_t count = 0;
    GElf_Phdr p;

    if (elf_getphdrnum(elf, &count) != 0)
        return;
    for (size_t i = 0; i < count && out->count < CODE_SEGMENTS_MAX; i++) {
        if (gelf_getphdr(elf, (int)i, &p) == NULL)
            return;
        if (p.p_type != PT_LOAD)
            continue;
        if (p.p_filesz == 0)
            p.p_offset = laid_out(end, &p);
        if ((p.p_flags & PF_W) == 0) /* what is not written has all of its memory from the file */
            p.p_filesz = p.p_memsz;
        end = p.p_offset + p.p_filesz;
        if ((p.p_flags & PF_X) != 0)
            out->segments[out->count++] = (struct code_segment){p.p_vaddr, p.p_filesz, p.p_offset};
    }
}

/* ---- open and close ---- */

/* Read, not mapped: a file that shrinks under a mapping would kill us. */
static enum status open_any(int fd, struct slice image, struct elf_file **out)
{
    struct elf_file *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return ST_NOMEM;
    f->fd = fd;
    f->image = image;
    if (header_is_sane(f) && elf_version(EV_CURRENT) != EV_NONE) {
        if (fd >= 0)
            f->elf = elf_begin(fd, ELF_C_READ, NULL);
        else /* libelf takes a plain pointer but does not write in read mode */
            f->elf = elf_memory((char *)(uintptr_t)image.bytes, image.length);
    }
    if (f->elf == NULL || elf_kind(f->elf) != ELF_K_ELF) {
        elf_file_close(f);
        return ST_INVALID;
    }
    collect_code(f->elf, &f->code);
    *out = f;
    return ST_OK;
}

enum status elf_file_open(int fd, struct elf_file **out)
{
    return open_any(fd, (struct slice){0}, out);
}

enum status elf_file_open_image(struct slice image, struct elf_file **out)
{
    return open_any(-1, image, out);
}

void elf_file_close(struct elf_file *f)
{
    if (f == NULL)
        return;
    elf_end(f->elf); /* NULL is fine */
    free(f);
}

const struct code_map *elf_file_code(const struct elf_file *f)
{
    return &f->code;
}

struct Elf *elf_file_handle(struct elf_file *f)
{
    return f->elf;
}

/* ---- sections ---- */

static Elf_Scn *find_section(struct elf_file *f, const char *name, GElf_Shdr *header)
{
    Elf_Scn *scn = NULL;
    size_t names = 0;

    if (elf_getshdrstrndx(f->elf, &names) != 0)
        return NULL;
    while ((scn = elf_nextscn(f->elf, scn)) != NULL) {
        const char *found;

        if (gelf_getshdr(scn, header) == NULL || header->sh_type == SHT_NOBITS)
            continue;
        found = elf_strptr(f->elf, names, header->sh_name);
        if (found != NULL && strcmp(found, name) == 0)
            return scn;
    }
    return NULL;
}

static uint64_t unpacked_bytes(Elf_Scn *scn, const GElf_Shdr *header)
{
    GElf_Chdr packed;

    if ((header->sh_flags & SHF_COMPRESSED) == 0)
        return header->sh_size;
    return gelf_getchdr(scn, &packed) != NULL ? packed.ch_size : 0;
}

bool elf_file_section(struct elf_file *f, const char *name, uint64_t max, struct elf_section *out)
{
    GElf_Shdr header;
    Elf_Scn *scn = find_section(f, name, &header);
    Elf_Data *data;

    if (scn == NULL || header.sh_size > max || unpacked_bytes(scn, &header) > max)
        return false;
    if ((header.sh_flags & SHF_COMPRESSED) != 0 && elf_compress(scn, 0, 0) < 0)
        return false;
    data = elf_rawdata(scn, NULL);
    if (data == NULL || data->d_buf == NULL || data->d_size == 0)
        return false;
    *out = (struct elf_section){header.sh_addr, {data->d_buf, data->d_size}};
    return true;
}

uint64_t elf_file_section_bytes(struct elf_file *f, const char *name)
{
    GElf_Shdr header;
    Elf_Scn *scn = find_section(f, name, &header);

    return scn == NULL ? 0 : unpacked_bytes(scn, &header);
}

uint64_t elf_file_section_address(struct elf_file *f, const char *name)
{
    GElf_Shdr header;

    return find_section(f, name, &header) == NULL ? 0 : header.sh_addr;
}

/* ---- notes ---- */

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

bool elf_file_note(struct elf_file *f, const char *owner, uint32_t type, struct slice *out)
{
    size_t count = 0;
    GElf_Phdr segment;

    if (elf_getphdrnum(f->elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count && gelf_getphdr(f->elf, (int)i, &segment) != NULL; i++)
        if (note_in_segment(f->elf, &segment, owner, type, out))
            return true;
    return false;
}
