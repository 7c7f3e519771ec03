/* kallsyms - one line of /proc/kallsyms, parsed. Pure. */
#ifndef AGENT_SYMBOLS_KALLSYMS_H
#define AGENT_SYMBOLS_KALLSYMS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    KALLSYMS_NAME_MAX = 512, /* KSYM_NAME_LEN of 6.1 and later, in bytes with the NUL */
    KALLSYMS_MODULE_MAX = 64, /* MODULE_NAME_LEN */
    KALLSYMS_LINE_MAX = 1024,
};

struct kallsym { /* value */
    uint64_t address;
    char type; /* as nm prints it */
    char name[KALLSYMS_NAME_MAX];
    char module[KALLSYMS_MODULE_MAX]; /* "": the core image */
};

bool kallsyms_parse(const char *line, struct kallsym *out);
bool kallsym_is_text(const struct kallsym *s);

#endif
