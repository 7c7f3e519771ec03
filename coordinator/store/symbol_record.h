/* symbol_record - where a stored symbol table came from and how good it is, beside the table itself
 * and under the same key. Tables from before there were records have none. */
#ifndef COORDINATOR_STORE_SYMBOL_RECORD_H
#define COORDINATOR_STORE_SYMBOL_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/status.h"
#include "common/symtab.h"
#include "common/wire.h"

#define SYMBOL_ORIGIN_LIST(X)  \
    X(1, AGENT, "agent")       \
    X(2, OPERATOR, "operator") \
    X(3, DEBUGINFOD, "debuginfod")

enum symbol_origin {
    SYMBOL_ORIGIN_NONE = 0,
#define X(number, NAME, text) SYMBOL_FROM_##NAME = (number),
    SYMBOL_ORIGIN_LIST(X)
#undef X
};

enum { SYMBOL_FROM_MAX = 255, SYMBOL_NAME_MAX = 255 }; /* bytes; longer ones are cut */

struct symbol_record {
    enum symbol_origin origin;
    char from[SYMBOL_FROM_MAX + 1]; /* the host, the operator, or the server's URL */
    char name[SYMBOL_NAME_MAX + 1]; /* of the file, as its sender knows it; "": not told */
    struct wall stored; /* when it came */
    uint32_t symbols;
    uint32_t sources; /* SYMTAB_FROM_... */
    enum symtab_grade grade;
};

const char *symbol_origin_name(enum symbol_origin o);
/* May a table take the other's place? When its grade is higher, or the same with more symbols. */
bool symbol_record_is_better(const struct symbol_record *a, const struct symbol_record *than);

enum status symbol_record_encode(const struct symbol_record *r, struct wire_writer *w);
enum status symbol_record_decode(struct slice bytes, struct symbol_record *out);

#endif
