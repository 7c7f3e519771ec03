/* unwind_input - how bytes are read as registers, tables and, behind this struct, a stack. */
#ifndef TESTS_FUZZ_UNWIND_INPUT_H
#define TESTS_FUZZ_UNWIND_INPUT_H

#include "bpf/abi.h"

#define INPUT_STACK_START 0x10000ull

enum { INPUT_PAGES = 3, INPUT_RANGES = 6 /* of each page */, INPUT_ROWS = 32, INPUT_PID = 1 };

struct unwind_input {
    struct abi_registers at;
    struct {
        __u32 ranges, pages;
        struct abi_range range[INPUT_RANGES];
    } page[INPUT_PAGES];
    struct abi_row rows[INPUT_ROWS]; /* at both ends of shard 0 */
};

#endif
