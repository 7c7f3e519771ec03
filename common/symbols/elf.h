/* elf - build ids and function symbols from ELF files, by libelf. Files are hostile: every offset
 * and size is checked, totals are bounded by common/symtab.h. Any thread. */
#ifndef COMMON_SYMBOLS_ELF_H
#define COMMON_SYMBOLS_ELF_H

#include "common/id.h"
#include "common/status.h"
#include "common/symtab.h"
#include "common/wire.h"

/* The GNU build id, else the Go build id's hash, else a hash of the content.
 * ST_INVALID: not an ELF file. */
enum status elf_build_id(int fd, struct build_id *out);

/* Functions of .symtab and .dynsym, by file offset. An ELF file without symbols gives an empty
 * table. */
enum status elf_symbols(int fd, struct symtab *out);

/* The same for an ELF image in memory, such as the vdso. */
enum status elf_image_build_id(struct slice image, struct build_id *out);
enum status elf_image_symbols(struct slice image, struct symtab *out);

#endif
