/* run - the command line as an operator sees it: arguments in, text and exit code out. */
#ifndef TESTS_UNIT_CLI_RUN_H
#define TESTS_UNIT_CLI_RUN_H

#include "coordinator/cli/cli.h"
#include "tests/unit/cli/stub.h"

struct ran {
    enum outcome outcome;
    char *out, *err; /* owned */
};

/* Runs `line` (words divided by blanks, no quoting) against the stub; NULL: against nothing. */
struct ran run_line(const struct stub *s, const char *line);
void ran_deinit(struct ran *r);

#endif
