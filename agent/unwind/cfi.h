/* cfi - call frame information, as compilers leave it in .eh_frame and .debug_frame, read into
 * rows. Own code because elfutils answers for one address at a time and in expressions: a table of
 * a large library would take it seconds. Pure; entries that make no sense are left out. */
#ifndef AGENT_UNWIND_CFI_H
#define AGENT_UNWIND_CFI_H

#include "agent/unwind/dwarf_cursor.h"
#include "agent/unwind/row_list.h"

struct cfi_section {
    struct slice bytes;
    uint64_t address; /* where the first byte is mapped, as the file has it */
    struct dwarf_bases bases;
    bool debug_frame; /* else .eh_frame: they tell common entries apart in two ways */
    bool terminated; /* ends at its terminator, and what follows is something else */
};

/* Adds a run for each function; failures are in the list's status. */
void cfi_read(const struct cfi_section *s, struct row_list *out);

#endif
