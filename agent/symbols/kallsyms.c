#include "agent/symbols/kallsyms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool kallsyms_parse(const char *line, struct kallsym *out)
{
    struct kallsym s = {0};
    int at = 0;

    if (sscanf(line, "%16" SCNx64 " %c %511s%n", &s.address, &s.type, s.name, &at) != 3)
        return false;
    if (line[at] == '\t' || line[at] == ' ')
        (void)sscanf(line + at, " [%63[^]]]", s.module);
    *out = s;
    return true;
}

bool kallsym_is_text(const struct kallsym *s)
{
    return strchr("tTwW", s->type) != NULL;
}
