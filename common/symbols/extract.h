/* extract - everything that files say about the names and places of a binary's code, put into one
 * table: .symtab, .dynsym, .gnu_debugdata, .gopclntab, DWARF, and the separate debug file. A debug
 * file given in the binary's place works the same. Any thread. */
#ifndef COMMON_SYMBOLS_EXTRACT_H
#define COMMON_SYMBOLS_EXTRACT_H

#include <stdbool.h>

#include "common/status.h"
#include "common/symtab.h"

enum {
    EXTRACT_DEBUGDATA_MAX = 64 << 20, /* bytes of .gnu_debugdata, unpacked; Fedora's have 1-5 MiB */
    EXTRACT_GOPCLNTAB_MAX = 256 << 20,
};

struct extract_options {
    const char *debug_root; /* where separate debug files lie; NULL: look for none */
    bool places; /* read DWARF, too */
};

/* ST_INVALID: not an ELF file; ST_NOT_FOUND: there is nothing in it, as in a stripped binary or a
 * file whose sections are empty: it must not take the place of what is known; ST_NOMEM. */
enum status extract_symbols(int fd, const struct extract_options *options, struct symtab *out);

#endif
