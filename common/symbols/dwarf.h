/* dwarf - places from DWARF debug information, by libdw: for all of a binary's code the lines and
 * the calls that were inlined. Slow (1 s for 30 MiB of .debug_info) and, like libdw, no match for
 * hostile files: let a process of its own read those of others (reader.h). Any thread. */
#ifndef COMMON_SYMBOLS_DWARF_H
#define COMMON_SYMBOLS_DWARF_H

#include <stdbool.h>

#include "common/places.h"
#include "common/status.h"
#include "common/symbols/code_map.h"
#include "common/symbols/elf_file.h"

enum {
    DWARF_INFO_BYTES_MAX = 64 << 20, /* of .debug_info; larger ones are left alone: ST_TOO_BIG */
    DWARF_LINE_BYTES_MAX = 64 << 20, /* and of .debug_line */
};

/* `alternate` is the file that dwz moved common entries to, NULL: none (elf_file_alternate_id).
 * *is_cut: a limit of places.h was reached. ST_NOT_FOUND: no debug information, or none of the
 * code of `code`; ST_INVALID; ST_NOMEM. */
enum status dwarf_read_places(struct elf_file *f, struct elf_file *alternate,
                              const struct code_map *code, struct places *out, bool *is_cut);

#endif
