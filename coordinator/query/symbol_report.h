/* symbol_report - which binaries have symbols, and which of those that samples ran through have
 * none. Any thread. */
#ifndef COORDINATOR_QUERY_SYMBOL_REPORT_H
#define COORDINATOR_QUERY_SYMBOL_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "common/status.h"
#include "coordinator/store/store.h"
#include "coordinator/store/symbol_record.h"

struct symbol_line {
    struct build_id id;
    const char *path; /* of the binary as a sample had it; "": no sample; while the view is open */
    uint64_t bytes; /* of its packed table; 0: it has none */
    struct symbol_record record; /* of its table; empty where none is known */
};

struct symbol_report {
    struct symbol_line *lines; /* owned; by path, then id */
    uint32_t line_count, table_count; /* lines, and those of them that have a table */
};

enum status symbol_report(struct store_view *v, struct symbol_report *out);
void symbol_report_deinit(struct symbol_report *r);

#endif
