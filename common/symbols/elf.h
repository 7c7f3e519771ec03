/* elf - build ids and function symbols from ELF files, by libelf. Files are hostile: every offset
 * and size is checked, totals are bounded by common/symtab.h. Any thread. */
#ifndef COMMON_SYMBOLS_ELF_H
#define COMMON_SYMBOLS_ELF_H

#include "common/id.h"
#include "common/status.h"
#include "common/symbols/elf_file.h"
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

/* Adds those of an open file to a table, by the offsets of `code`, and marks what they came from.
 * Those beyond the table's limits are cut. ST_NOMEM. */
enum status elf_add_symbols(struct elf_file *f, const struct code_map *code, struct symtab *t);
/* The GNU build id. ST_NOT_FOUND: it has none. */
enum status elf_gnu_build_id(struct elf_file *f, struct build_id *out);

#endif
