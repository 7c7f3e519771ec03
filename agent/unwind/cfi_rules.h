/* cfi_rules - the rules in force at one place of the code, as DWARF has them, and as a row has
 * them. Pure. Registers have DWARF's numbers: System V ABI for x86-64, figure 3.36. */
#ifndef AGENT_UNWIND_CFI_RULES_H
#define AGENT_UNWIND_CFI_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/row_list.h"
#include "common/wire.h"

enum { CFI_RBP = 6, CFI_RSP = 7, CFI_R10 = 10, CFI_RIP = 16 };

enum cfi_place { /* where a register's value at the caller's is */
                 CFI_SAME, /* still in the register; also where nothing is said */
                 CFI_UNDEFINED,
                 CFI_OFFSET, /* in memory at CFA + offset */
                 CFI_EXPRESSION, /* in memory at the expression's value */
                 CFI_ELSEWHERE, /* any rule that no row can hold */
};

struct cfi_rule {
    enum cfi_place place;
    int64_t offset;
    struct slice expression;
};

struct cfi_rules {
    bool cfa_by_expression;
    uint64_t cfa_register;
    int64_t cfa_offset;
    struct slice cfa_expression;
    struct cfi_rule rbp, rip;
};

/* `signal`: the code is a signal handler's return, by its augmentation. */
struct row_rule cfi_rules_row(const struct cfi_rules *r, bool signal);

#endif
