#include "agent/unwind/file_rows.h"

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/unwind/cfi.h"

#define PAGE_BYTES UINT64_C(4096)

enum { PLT_ENTRY_BYTES = 16 };

struct file {
    Elf *elf;
    size_t names; /* the section of sections' names */
    uint64_t header_address; /* of .eh_frame_hdr; 0: none */
    struct file_rows *rows;
    struct row_list list;
};

/* ---- opening ---- */

/* libelf takes room for as many sections as are declared. An x86-64 file of a running program has
 * some dozens; those that need the extended count are object files. */
static bool header_is_sane(int fd)
{
    Elf64_Ehdr h;

    return pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) &&
           memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == ELFCLASS64 &&
           h.e_ident[EI_DATA] == ELFDATA2LSB && h.e_machine == EM_X86_64 &&
           (h.e_shnum != 0 || h.e_shoff == 0);
}

/* Read, not mapped: a file that shrinks under a mapping would kill us. */
static Elf *begin(int fd)
{
    Elf *elf;

    if (!header_is_sane(fd) || elf_version(EV_CURRENT) == EV_NONE)
        return NULL;
    elf = elf_begin(fd, ELF_C_READ, NULL);
    if (elf != NULL && elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        return NULL;
    }
    return elf;
}

static bool segment_at(Elf *elf, size_t i, GElf_Phdr *out)
{
    size_t count = 0;

    return elf_getphdrnum(elf, &count) == 0 && i < count && gelf_getphdr(elf, (int)i, out) != NULL;
}

static void collect_segments(Elf *elf, struct file_rows *r)
{
    GElf_Phdr p;

    for (size_t i = 0; r->segment_count < FILE_ROWS_SEGMENTS_MAX && segment_at(elf, i, &p); i++)
        if (p.p_type == PT_LOAD && (p.p_flags & PF_X) != 0 && p.p_filesz > 0 &&
            p.p_vaddr <= INT64_MAX && p.p_filesz <= INT64_MAX && p.p_offset <= INT64_MAX)
            r->segments[r->segment_count++] =
                (struct file_segment){p.p_vaddr, p.p_offset, p.p_filesz};
}

/* From the first code to the end of the last. */
static void begin_list(struct file *f)
{
    uint64_t base = UINT64_MAX, end = 0;

    for (uint32_t i = 0; i < f->rows->segment_count; i++) {
        const struct file_segment *s = &f->rows->segments[i];

        if (s->address < base)
            base = s->address;
        if (s->address + s->bytes > end)
            end = s->address + s->bytes;
    }
    row_list_init(&f->list, base, end);
    f->rows->base = base;
}

/* ---- sections ---- */

static Elf_Scn *find_section(const struct file *f, const char *name, GElf_Shdr *out)
{
    Elf_Scn *scn = NULL;

    while ((scn = elf_nextscn(f->elf, scn)) != NULL) {
        const char *own =
            gelf_getshdr(scn, out) != NULL ? elf_strptr(f->elf, f->names, out->sh_name) : NULL;

        if (own != NULL && strcmp(own, name) == 0 && out->sh_type != SHT_NOBITS &&
            out->sh_size <= FILE_ROWS_SECTION_BYTES_MAX)
            return scn;
    }
    return NULL;
}

static bool decompress(Elf_Scn *scn)
{
    GElf_Chdr compressed;

    return gelf_getchdr(scn, &compressed) != NULL &&
           compressed.ch_size <= FILE_ROWS_SECTION_BYTES_MAX && elf_compress(scn, 0, 0) >= 0;
}

/* Empty: there is none, or none that makes sense. Lent until the file is closed. */
static struct slice section_bytes(Elf_Scn *scn, const GElf_Shdr *header)
{
    Elf_Data *data;

    if ((header->sh_flags & SHF_COMPRESSED) != 0) {
        if (!decompress(scn))
            return (struct slice){0};
        data = elf_getdata(scn, NULL);
    } else {
        data = elf_rawdata(scn, NULL);
    }
    if (data == NULL || data->d_buf == NULL)
        return (struct slice){0};
    return (struct slice){data->d_buf, data->d_size};
}

static void read_section(struct file *f, const char *name, bool debug_frame)
{
    GElf_Shdr header;
    Elf_Scn *scn = find_section(f, name, &header);
    struct cfi_section s = {.bases = {.data = f->header_address}, .debug_frame = debug_frame};

    if (scn == NULL)
        return;
    s.bytes = section_bytes(scn, &header);
    s.address = header.sh_addr;
    if (s.bytes.length > 0)
        cfi_read(&s, &f->list);
}

/* ---- files without section headers ---- */

static struct slice chunk(Elf *elf, uint64_t offset, uint64_t bytes)
{
    Elf_Data *data;

    if (offset > INT64_MAX || bytes == 0 || bytes > FILE_ROWS_SECTION_BYTES_MAX)
        return (struct slice){0};
    data = elf_getdata_rawchunk(elf, (int64_t)offset, bytes, ELF_T_BYTE);
    if (data == NULL || data->d_buf == NULL)
        return (struct slice){0};
    return (struct slice){data->d_buf, data->d_size};
}

/* The bytes from `address` to the end of its segment's. */
static struct slice bytes_from(Elf *elf, uint64_t address)
{
    GElf_Phdr p;

    for (size_t i = 0; segment_at(elf, i, &p); i++) {
        uint64_t into = address - p.p_vaddr;

        if (p.p_type == PT_LOAD && address >= p.p_vaddr && into < p.p_filesz)
            return chunk(elf, p.p_offset + into, p.p_filesz - into);
    }
    return (struct slice){0};
}

/* .eh_frame_hdr: a version, three encodings, then where .eh_frame is. */
static uint64_t frame_address(struct slice header, uint64_t address)
{
    struct dwarf_cursor c = dwarf_cursor(header, address);
    uint64_t version = dwarf_unsigned(&c, 1);
    uint8_t encoding = (uint8_t)dwarf_unsigned(&c, 1);

    (void)dwarf_unsigned(&c, 2);
    return version == 1 ? dwarf_pointer(&c, encoding, (struct dwarf_bases){.data = address}) : 0;
}

static void read_by_segment(struct file *f, const GElf_Phdr *header)
{
    struct cfi_section s = {.bases = {.data = f->header_address}, .terminated = true};
    struct slice bytes = chunk(f->elf, header->p_offset, header->p_filesz);

    s.address = frame_address(bytes, header->p_vaddr);
    if (s.address != 0)
        s.bytes = bytes_from(f->elf, s.address);
    if (s.bytes.length > 0)
        cfi_read(&s, &f->list);
}

static bool find_header(struct file *f, GElf_Phdr *out)
{
    for (size_t i = 0; segment_at(f->elf, i, out); i++)
        if (out->p_type == PT_GNU_EH_FRAME) {
            f->header_address = out->p_vaddr;
            return true;
        }
    return false;
}

/* ---- the procedure linkage table, where the linker left no word of it ---- */

/* Its first entry pushes a word more than it was come to with; each other pushes one and jumps
 * there. With indirect branch tracking the push comes 2 bytes earlier: after endbr64. */
static void put_plt(struct file *f, const GElf_Shdr *h, struct slice bytes)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    bool tracked = bytes.length >= PLT_ENTRY_BYTES + sizeof(endbr64) &&
                   memcmp(bytes.bytes + PLT_ENTRY_BYTES, endbr64, sizeof(endbr64)) == 0;
    int16_t pushed = tracked ? 9 : 11;

    row_list_put(&f->list, h->sh_addr, (struct row_rule){16, ABI_ROW_RSP, 0});
    row_list_put(&f->list, h->sh_addr + 6, (struct row_rule){24, ABI_ROW_RSP, 0});
    row_list_put(&f->list, h->sh_addr + PLT_ENTRY_BYTES, (struct row_rule){pushed, ABI_ROW_PLT, 0});
}

static void add_plt(struct file *f, const char *name, bool lazy)
{
    GElf_Shdr h;
    Elf_Scn *scn = find_section(f, name, &h);

    if (scn == NULL || (h.sh_flags & SHF_EXECINSTR) == 0 ||
        row_list_meets(&f->list, h.sh_addr, h.sh_addr + h.sh_size) ||
        !row_list_begin(&f->list, h.sh_addr, h.sh_addr + h.sh_size))
        return;
    if (lazy)
        put_plt(f, &h, section_bytes(scn, &h));
    else
        row_list_put(&f->list, h.sh_addr, (struct row_rule){8, ABI_ROW_RSP, 0});
}

/* ---- a whole file ---- */

static enum status read_all(struct file *f)
{
    GElf_Phdr header;
    bool has_header = find_header(f, &header);
    enum status st;

    begin_list(f);
    if (elf_getshdrstrndx(f->elf, &f->names) == 0 && f->names != SHN_UNDEF) {
        read_section(f, ".eh_frame", false);
        read_section(f, ".debug_frame", true);
    }
    if (f->list.run_count == 0 && has_header)
        read_by_segment(f, &header);
    if (f->list.run_count > 0 && f->names != SHN_UNDEF) {
        add_plt(f, ".plt", true);
        add_plt(f, ".plt.got", false);
        add_plt(f, ".plt.sec", false);
    }
    st = row_list_finish(&f->list, &f->rows->items, &f->rows->count);
    row_list_deinit(&f->list);
    return st;
}

enum status file_rows_read(int fd, struct file_rows *out)
{
    struct file_rows r = {0};
    struct file f = {.elf = begin(fd), .rows = &r};
    enum status st = ST_NOT_FOUND;

    if (f.elf == NULL)
        return ST_INVALID;
    collect_segments(f.elf, &r);
    if (r.segment_count > 0)
        st = read_all(&f);
    elf_end(f.elf);
    if (st == ST_OK)
        *out = r;
    return st;
}

void file_rows_deinit(struct file_rows *r)
{
    free(r->items);
    *r = (struct file_rows){0};
}

static bool holds(const struct file_segment *s, uint64_t page, uint64_t file_offset)
{
    return file_offset >= page && file_offset < s->offset + s->bytes;
}

/* Mappings begin at whole pages, so a segment's may begin before it. Where two segments share a
 * page, the one that begins in it is meant. */
bool file_rows_pc_at(const struct file_rows *r, uint64_t file_offset, uint64_t *out)
{
    const struct file_segment *found = NULL;

    for (uint32_t i = 0; i < r->segment_count; i++) {
        const struct file_segment *s = &r->segments[i];
        uint64_t page = s->offset - s->offset % PAGE_BYTES;

        if (holds(s, page, file_offset) && (found == NULL || page == file_offset))
            found = s;
    }
    if (found == NULL)
        return false;
    *out = found->address - found->offset + file_offset - r->base;
    return true;
}
