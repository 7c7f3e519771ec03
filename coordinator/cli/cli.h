/* cli - the operator's command line: which commands there are, and what each is given.
 * A client of the HTTP API (coordinator/http) and of nothing else. One command a process; nothing
 * here is thread-safe. */
#ifndef COORDINATOR_CLI_CLI_H
#define COORDINATOR_CLI_CLI_H

#include <stdio.h>

#include "common/clock.h"
#include "coordinator/cli/client.h"
#include "coordinator/cli/options.h"
#include "coordinator/cli/screen.h"

/* What a command ends with, for scripts. */
enum outcome {
    OUTCOME_DONE = 0,
    OUTCOME_FAILED = 1,
    OUTCOME_USAGE = 2, /* the command line, or a value that the coordinator refused as invalid */
    OUTCOME_PARTIAL = 3, /* some hosts refused or delivered nothing */
    OUTCOME_NOT_FOUND = 4,
};

enum { CLI_NAME_MAX = 64 }; /* bytes, with the NUL */

struct cli {
    char name[CLI_NAME_MAX]; /* "fleetprof top": what its messages begin with */
    struct client *client;
    FILE *out, *err;
    struct screen screen; /* of `out` */
    struct screen progress; /* of `err` */
    struct wall now;
};

struct command {
    const char *name;
    const char *arguments; /* as in the usage line; NULL: none */
    unsigned arguments_min, arguments_max;
    option_set accepts;
    const char *summary; /* one line */
    const char *detail; /* more, for the command's own help; NULL: none */
    enum outcome (*run)(struct cli *c, const struct options *o);
};

/* The whole program but main(): reads the command line, runs the command, says what went wrong. */
enum outcome cli_main(int argc, char **argv, FILE *out, FILE *err);

/* Prints "NAME: ..." and a newline to `c->err`, and returns `outcome`. */
enum outcome cli_fail(const struct cli *c, enum outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The commands, by file. */
enum outcome command_status(struct cli *c, const struct options *o);
enum outcome command_agents(struct cli *c, const struct options *o);

enum outcome command_start(struct cli *c, const struct options *o);
enum outcome command_stop(struct cli *c, const struct options *o);
enum outcome command_rate(struct cli *c, const struct options *o);
enum outcome command_sessions(struct cli *c, const struct options *o);
enum outcome command_watch(struct cli *c, const struct options *o);

enum outcome command_top(struct cli *c, const struct options *o);
enum outcome command_diff(struct cli *c, const struct options *o);
enum outcome command_ledger(struct cli *c, const struct options *o);

enum outcome command_symbols(struct cli *c, const struct options *o);

enum outcome command_flame(struct cli *c, const struct options *o);
enum outcome command_export(struct cli *c, const struct options *o);

#endif
