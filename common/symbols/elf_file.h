/* elf_file - an ELF file or image opened by libelf, with every declared size bounded before it is
 * believed. What lies in it is lent until it is closed. Any thread, one at a time. */
#ifndef COMMON_SYMBOLS_ELF_FILE_H
#define COMMON_SYMBOLS_ELF_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "common/symbols/code_map.h"
#include "common/wire.h"

struct elf_file; /* opaque */
struct Elf; /* libelf's */

struct elf_section {
    uint64_t address;
    struct slice bytes; /* unpacked */
};

/* ST_INVALID: no ELF file of this byte order, or one that is beyond belief. */
enum status elf_file_open(int fd, struct elf_file **out); /* the descriptor is lent */
enum status elf_file_open_image(struct slice image, struct elf_file **out); /* as is the image */
void elf_file_close(struct elf_file *f); /* NULL is fine */

/* False: there is none, it has no content (as in a debug file), or more than `max` bytes. */
bool elf_file_section(struct elf_file *f, const char *name, uint64_t max, struct elf_section *out);
/* Bytes of a section's content once unpacked, whatever its size; 0: there is none. */
uint64_t elf_file_section_bytes(struct elf_file *f, const char *name);
uint64_t elf_file_section_address(struct elf_file *f, const char *name); /* 0: there is none */
/* The content of the first note with that owner and type in any note segment. */
bool elf_file_note(struct elf_file *f, const char *owner, uint32_t type, struct slice *out);
/* A debug file has lost its segments' offsets: then they are laid out anew, as linkers do. */
const struct code_map *elf_file_code(const struct elf_file *f);

struct Elf *elf_file_handle(struct elf_file *f); /* for the other files that use elfutils */

#endif
