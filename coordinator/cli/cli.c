#include "coordinator/cli/cli.h"

#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "fleetprof"
#define WINDOW_HELP                                                                              \
    "\vThe window is --session ID, or --from and --to; without either, the last hour. --select " \
    "narrows it to some hosts and processes."

enum { TEXT_MAX_BYTES = 2048 }; /* of a command's help, without its options */

static const struct command commands[] = {
    {"status", NULL, 0, 0, 0, "coordinator, store and fleet at a glance", NULL, command_status},
    {"agents", "[SELECTOR]", 0, 1, 0, "the hosts: labels, what runs, cost, spool, clock, last seen",
     "\vCOST is CPU time since the agent's start, MEMORY what it and its kernel maps hold, SPOOL "
     "chunks that wait to be sent, CLOCK its clock less the coordinator's.",
     command_agents},
    {"start", "SELECTOR", 1, 1,
     OPTION_BIT(EVENT) | OPTION_BIT(HZ) | OPTION_BIT(FOR) | OPTION_BIT(NOTE) | OPTION_BIT(OWNER) |
         OPTION_BIT(WAIT) | OPTION_BIT(BY) | OPTION_BIT(LIMIT),
     "start a session on every host that matches; prints its id",
     "\vSELECTOR is '*' for every host, or like 'service=checkout,zone!=eu-1,host=~^web'. With "
     "--wait, --by and --limit shape the ranking, and --json prints it; exits 3 when a host "
     "refused "
     "or delivered nothing, when no host matched, or after Ctrl-C.",
     command_start},
    {"stop", "ID", 1, 1, OPTION_BIT(OWNER), "end a session; what it took stays",
     "\vWith --owner, only when the session is NAME's.", command_stop},
    {"rate", "ID --hz N", 1, 1, OPTION_BIT(HZ), "change the rate of a running session", NULL,
     command_rate},
    {"sessions", "[ID]", 0, 1, OPTION_BIT(LIMIT),
     "all sessions, the newest first, or one with its hosts",
     "\vThe newest hundred, unless --limit says otherwise.", command_sessions},
    {"watch", "ID", 1, 1, 0, "follow a session to its end",
     "\vWith --json, one line for each state of the session. Ctrl-C ends the watching, not the "
     "session.",
     command_watch},
    {"top", NULL, 0, 0, OPTION_BITS_WINDOW | OPTION_BIT(BY) | OPTION_BIT(LIMIT),
     "what the CPUs were busy with: a ranking over all hosts",
     WINDOW_HELP " Rows whose intervals overlap share a range of ranks.", command_top},
    {"diff", "A B", 2, 2,
     OPTION_BIT(EVENT) | OPTION_BIT(SELECT_A) | OPTION_BIT(SELECT_B) | OPTION_BIT(BY) |
         OPTION_BIT(LIMIT) | OPTION_BIT(ALL),
     "what got more or less expensive from A to B",
     "\vA side is a session's id, 'last', or from..to, such as -2h..-1h. CORES is B less A, POINTS "
     "the change of the share in percentage points.",
     command_diff},
    {"flame", "[A B]", 0, 2,
     OPTION_BITS_WINDOW | OPTION_BIT(SELECT_A) | OPTION_BIT(SELECT_B) | OPTION_BIT(OUTPUT),
     "a flame graph as one interactive HTML file",
     WINDOW_HELP " With two sides, as for diff, both are in the picture.", command_flame},
    {"export", NULL, 0, 0, OPTION_BITS_WINDOW | OPTION_BIT(FORMAT) | OPTION_BIT(OUTPUT),
     "the samples as pprof, collapsed stacks or speedscope", WINDOW_HELP, command_export},
    {"symbols", "list | upload FILE...", 1, ARGUMENTS_MAX,
     OPTION_BIT(LIMIT) | OPTION_BIT(OWNER) | OPTION_BIT(FORCE),
     "whose functions have names, and names for those that have none",
     "\vA FILE is a binary as it was built or its separate debug file; it is read here, and what "
     "it says of functions and lines is sent. It names old samples too, and may come before any. "
     "A worse table never takes the place of a better one, unless --force says so.",
     command_symbols},
    {"ledger", NULL, 0, 0, OPTION_BITS_WINDOW,
     "what was expected, delivered and lost, by host and cause", WINDOW_HELP, command_ledger},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

enum outcome cli_fail(const struct cli *c, enum outcome outcome, const char *format, ...)
{
    va_list arguments;

    fprintf(c->err, "%s: ", c->name);
    va_start(arguments, format);
    vfprintf(c->err, format, arguments);
    va_end(arguments);
    fputc('\n', c->err);
    return outcome;
}

static void print_help(FILE *out)
{
    fputs("Usage: " PROGRAM " [--url URL] COMMAND [OPTION...]\n"
          "Profile a fleet: start sessions, see what the CPUs are busy with, compare.\n\n",
          out);
    for (size_t i = 0; i < COMMANDS; i++) {
        char usage[CLI_NAME_MAX];

        snprintf(usage, sizeof(usage), "%s %s", commands[i].name,
                 commands[i].arguments != NULL ? commands[i].arguments : "");
        fprintf(out, "  %-18s %s\n", usage, commands[i].summary);
    }
    fputs("\n"
          "  --url URL          where the coordinator listens: unix:PATH or http://HOST:PORT\n"
          "                     (default: $FLEETPROF_URL, else " CLIENT_URL_DEFAULT ")\n"
          "  --version          print the version\n"
          "  COMMAND --help     all about a command; each takes --json\n\n"
          "Exits 0 done, 1 failed, 2 wrong usage, 3 partial, 4 not found.\n",
          out);
}

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static enum outcome unknown_command(const struct cli *c, const char *name)
{
    fprintf(c->err, PROGRAM ": '%s' is not a command; these are:", name);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(c->err, " %s", commands[i].name);
    fputc('\n', c->err);
    return OUTCOME_USAGE;
}

/* The command's own option, else the one before the command, else the environment's. */
static enum outcome connect_client(struct cli *c, const char *url)
{
    const char *from_environment = getenv("FLEETPROF_URL");

    if (url == NULL && from_environment != NULL && from_environment[0] != '\0')
        url = from_environment;
    if (url == NULL)
        url = CLIENT_URL_DEFAULT;
    enum status st = client_new(url, &c->client);
    if (st == ST_INVALID)
        return cli_fail(
            c, OUTCOME_USAGE,
            "'%s' is not where a coordinator can be; give unix:PATH, http://HOST:PORT or "
            "https://HOST:PORT",
            url);
    return st == ST_OK ? OUTCOME_DONE : cli_fail(c, OUTCOME_FAILED, "%s", status_text(st));
}

static enum outcome run_command(struct cli *c, const struct command *command, int argc, char **argv,
                                const char *url)
{
    char text[TEXT_MAX_BYTES];
    struct options o;

    snprintf(c->name, sizeof(c->name), PROGRAM " %s", command->name);
    snprintf(text, sizeof(text), "%s%s", command->summary,
             command->detail != NULL ? command->detail : "");
    struct usage usage = {.name = c->name,
                          .arguments = command->arguments,
                          .arguments_min = command->arguments_min,
                          .arguments_max = command->arguments_max,
                          .accepts = command->accepts,
                          .text = text};
    argv[0] = c->name; /* what argp and getopt call the program */
    switch (options_read(&usage, argc, argv, c->out, c->err, &o)) {
    case OPTIONS_HELPED:
        return OUTCOME_DONE;
    case OPTIONS_WRONG:
        return OUTCOME_USAGE;
    case OPTIONS_READ:
        break;
    }
    enum outcome outcome = connect_client(c, options_text(&o, OPTION_URL, url));
    if (outcome == OUTCOME_DONE)
        outcome = command->run(c, &o);
    client_free(c->client);
    c->client = NULL;
    return outcome;
}

/* Options before the command: --url, --help and --version. */
static enum outcome dispatch(struct cli *c, int argc, char **argv)
{
    static const char url_is[] = "--url=";
    const char *url = NULL;
    int at = 1;

    for (; at < argc && argv[at][0] == '-'; at++) {
        if (strcmp(argv[at], "--help") == 0 || strcmp(argv[at], "-h") == 0) {
            print_help(c->out);
            return OUTCOME_DONE;
        }
        if (strcmp(argv[at], "--version") == 0) {
            fputs(PROGRAM " " FLEETPROF_VERSION "\n", c->out);
            return OUTCOME_DONE;
        }
        if (strncmp(argv[at], url_is, strlen(url_is)) == 0)
            url = argv[at] + strlen(url_is);
        else if (strcmp(argv[at], "--url") == 0 && at + 1 < argc)
            url = argv[++at];
        else
            return cli_fail(c, OUTCOME_USAGE,
                            "'%s' is not accepted before the command; --url URL, --help and "
                            "--version are",
                            argv[at]);
    }
    if (at == argc) {
        print_help(c->err);
        return OUTCOME_USAGE;
    }
    const struct command *command = find_command(argv[at]);
    return command != NULL ? run_command(c, command, argc - at, argv + at, url)
                           : unknown_command(c, argv[at]);
}

enum outcome cli_main(int argc, char **argv, FILE *out, FILE *err)
{
    struct cli c = {.name = PROGRAM,
                    .out = out,
                    .err = err,
                    .screen = screen_of(out),
                    .progress = screen_of(err),
                    .now = clock_wall()};

    /* Names are UTF-8 whatever the terminal's language; C.UTF-8 is always there. */
    setlocale(LC_CTYPE, "C.UTF-8");
    enum outcome outcome = dispatch(&c, argc, argv);
    if (fflush(out) != 0 || ferror(out))
        return cli_fail(&c, OUTCOME_FAILED, "the output is not complete: %s", strerror(errno));
    return outcome;
}
