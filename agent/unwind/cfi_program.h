/* cfi_program - runs DWARF's call frame instructions: from one function's entry to its rows.
 * Hostile programs end early, and their function's rest is marked as unsupported. Pure. */
#ifndef AGENT_UNWIND_CFI_PROGRAM_H
#define AGENT_UNWIND_CFI_PROGRAM_H

#include "agent/unwind/cfi_rules.h"
#include "agent/unwind/dwarf_cursor.h"
#include "agent/unwind/row_list.h"

enum { CFI_REMEMBERED_MAX = 16 }; /* rules on the stack of remembered ones; compilers use one */

struct cfi_common { /* a common information entry: what functions share */
    struct dwarf_cursor program;
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t rip; /* the column of the return address */
    uint8_t encoding; /* of addresses */
    bool signal;
    bool sized; /* functions' entries have augmentation data too */
};

struct cfi_function { /* a frame description entry */
    struct dwarf_cursor program;
    uint64_t start, end;
};

void cfi_program_run(const struct cfi_common *common, const struct cfi_function *function,
                     struct dwarf_bases bases, struct row_list *out);

#endif
