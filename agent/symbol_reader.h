/* symbol_reader - what the agent does in a child process: reads the names of one binary, which may
 * have been made to harm its reader, and leaves them packed. The child has no rights that such a
 * file could use, and limits; symbol_child.h starts and judges it. The only thread of its process.
 */
#ifndef AGENT_SYMBOL_READER_H
#define AGENT_SYMBOL_READER_H

#include <stdint.h>

#include "common/status.h"

/* The agent's first argument when it is to be a reader, as the agent alone starts it; the second
 * one is a symbol_reading's text. */
#define SYMBOL_READER_OPTION "--read-symbols"

#define SYMBOL_READING_LIST(X) \
    X(PLACES, "places")        \
    X(NAMES, "names")          \
    X(KERNEL, "kernel")

enum symbol_reading { /* what is read */
#define X(name, text) SYMBOL_READING_##name,
                      SYMBOL_READING_LIST(X)
#undef X
};

enum {
    SYMBOL_READER_INPUT = 3, /* descriptor of the ELF file, or of kallsyms */
    SYMBOL_READER_OUTPUT = 4, /* of an empty file: takes the table, by symtab_encode */
    SYMBOL_READER_EXIT = 64, /* plus a status: why there is no table; 0: there is one */
};

struct symbol_reader_limits {
    uint64_t memory_bytes; /* allocated; mapped files do not count */
    uint32_t cpu_seconds, wall_seconds;
};

extern const struct symbol_reader_limits symbol_reader_limits; /* what symbol_reader_main keeps */

const char *symbol_reading_text(enum symbol_reading what);

/* Gives up, for good, every right of this process but to use what it has open and to read what
 * everybody may. ST_DENIED: it could not. */
enum status symbol_reader_confine(const struct symbol_reader_limits *limits);

_Noreturn void symbol_reader_main(const char *what);

#endif
