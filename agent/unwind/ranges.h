/* ranges - a process's executable memory as ranges of addresses, each with the rule by which return
 * addresses are found there; and the pages that the eBPF programs look them up in. Pure. */
#ifndef AGENT_UNWIND_RANGES_H
#define AGENT_UNWIND_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/tables.h"
#include "bpf/abi.h"
#include "common/status.h"

enum { RANGES_MAX = ABI_PAGE_RANGES * ABI_PAGES_MAX };

enum code_kind { CODE_FILE, CODE_ANONYMOUS, CODE_TRAMPOLINES /* CPython's */ };

struct code_mapping { /* value */
    uint64_t start, end, file_offset;
    uint32_t binary; /* of CODE_FILE */
    enum code_kind kind;
};

struct ranges { /* zero-initialised is empty */
    struct abi_range *items; /* by address */
    uint32_t count, capacity;
    uint32_t dropped; /* over RANGES_MAX */
};

/* `mappings` ascend and do not overlap. Files whose tables are not settled get no range. */
enum status ranges_make(const struct tables *tables, const struct code_mapping *mappings,
                        uint32_t count, struct ranges *out);
void ranges_deinit(struct ranges *r); /* leaves the empty set */

bool ranges_hold(const struct ranges *r, uint64_t address);

/* Pages 0 and on; how many there are. */
uint32_t ranges_pages(const struct ranges *r);
void ranges_fill_page(const struct ranges *r, uint32_t page, struct abi_page *out);

#endif
