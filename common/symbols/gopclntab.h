/* gopclntab - function names from the table that every Go binary carries, stripped or not: its
 * runtime needs it for tracebacks. Layouts of Go 1.2, 1.16, 1.18 and 1.20 to today. The bytes are
 * hostile: nothing is read outside of them. Pure. */
#ifndef COMMON_SYMBOLS_GOPCLNTAB_H
#define COMMON_SYMBOLS_GOPCLNTAB_H

#include "common/status.h"
#include "common/symbols/code_map.h"
#include "common/symtab.h"
#include "common/wire.h"

struct go_text { /* the section .text, which functions are counted from since Go 1.18 */
    uint64_t address, bytes;
};

/* ST_INVALID: none of these layouts, or cut off; ST_FULL: `t` took what fits; ST_NOMEM. */
enum status gopclntab_read(struct slice bytes, struct go_text text, const struct code_map *code,
                           struct symtab *t);

#endif
