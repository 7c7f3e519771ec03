/* elf_image - a small ELF executable built in memory, for tests to bend.
 * One executable segment whose address and offset are neither equal nor page aligned, one note
 * segment, a symbol table with two functions, a version, an object and an undefined function. */
#ifndef TESTS_SUPPORT_ELF_IMAGE_H
#define TESTS_SUPPORT_ELF_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <elf.h>

enum {
    ELF_CODE_ADDRESS = 0x401234,
    ELF_CODE_OFFSET = 0x234,
    ELF_CODE_BYTES = 0x100,
};

struct elf_note {
    Elf64_Nhdr header;
    char owner[4];
    uint8_t content[20];
};

struct elf_image {
    Elf64_Ehdr header;
    Elf64_Phdr segments[2];
    Elf64_Shdr sections[3];
    Elf64_Sym symbols[6];
    char names[64];
    struct elf_note note;
    uint8_t padding[64];
};

static inline Elf64_Sym elf_image_symbol(uint32_t name, uint8_t type, uint64_t at, uint16_t section)
{
    return (Elf64_Sym){.st_name = name,
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, type),
                       .st_shndx = section,
                       .st_value = ELF_CODE_ADDRESS + at,
                       .st_size = 0x10};
}

static inline struct elf_image elf_image_make(const char *owner, uint32_t note_type)
{
    static const char names[] = "\0first\0second@@V_1\0thing\0missing\0picked";
    struct elf_image i = {0};

    memcpy(i.header.e_ident, ELFMAG, SELFMAG);
    i.header.e_ident[EI_CLASS] = ELFCLASS64;
    i.header.e_ident[EI_DATA] = ELFDATA2LSB;
    i.header.e_ident[EI_VERSION] = EV_CURRENT;
    i.header.e_type = ET_EXEC;
    i.header.e_machine = EM_X86_64;
    i.header.e_version = EV_CURRENT;
    i.header.e_ehsize = sizeof(i.header);
    i.header.e_phoff = offsetof(struct elf_image, segments);
    i.header.e_phentsize = sizeof(i.segments[0]);
    i.header.e_phnum = 2;
    i.header.e_shoff = offsetof(struct elf_image, sections);
    i.header.e_shentsize = sizeof(i.sections[0]);
    i.header.e_shnum = 3;
    i.segments[0] = (Elf64_Phdr){.p_type = PT_LOAD,
                                 .p_flags = PF_R | PF_X,
                                 .p_offset = ELF_CODE_OFFSET,
                                 .p_vaddr = ELF_CODE_ADDRESS,
                                 .p_filesz = ELF_CODE_BYTES,
                                 .p_memsz = ELF_CODE_BYTES};
    i.segments[1] = (Elf64_Phdr){.p_type = PT_NOTE,
                                 .p_offset = offsetof(struct elf_image, note),
                                 .p_filesz = sizeof(i.note),
                                 .p_align = 4};
    i.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                 .sh_offset = offsetof(struct elf_image, symbols),
                                 .sh_size = sizeof(i.symbols),
                                 .sh_entsize = sizeof(i.symbols[0]),
                                 .sh_link = 2};
    i.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
                                 .sh_offset = offsetof(struct elf_image, names),
                                 .sh_size = sizeof(i.names)};
    memcpy(i.names, names, sizeof(names));
    i.symbols[1] = elf_image_symbol(1, STT_FUNC, 0, 1);
    i.symbols[2] = elf_image_symbol(7, STT_FUNC, 0x10, 1);
    i.symbols[3] = elf_image_symbol(19, STT_OBJECT, 0x20, 1);
    i.symbols[4] = elf_image_symbol(25, STT_FUNC, 0x30, SHN_UNDEF);
    i.symbols[5] = elf_image_symbol(33, STT_GNU_IFUNC, 0x40, 1);
    i.note.header = (Elf64_Nhdr){.n_namesz = (uint32_t)strlen(owner) + 1,
                                 .n_descsz = sizeof(i.note.content),
                                 .n_type = note_type};
    memcpy(i.note.owner, owner, strlen(owner) + 1); /* at most three letters */
    for (size_t n = 0; n < sizeof(i.note.content); n++)
        i.note.content[n] = (uint8_t)n;
    return i;
}

#endif
