/* options - every option of the command line, once: its name, its help, and which values it takes.
 * A command names the set that it accepts; values that cannot be right are refused here, before
 * anything is asked of the coordinator. */
#ifndef COORDINATOR_CLI_OPTIONS_H
#define COORDINATOR_CLI_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* NAME, name, short key or 0, argument or NULL, check of the value or NULL, what is accepted, help
 */
#define OPTION_LIST(X)                                                                             \
    X(HELP, "help", 'h', NULL, NULL, "", "print this help")                                        \
    X(URL, "url", 0, "URL", check_url, "unix:PATH, http://HOST:PORT or https://HOST:PORT",         \
      "where the coordinator listens; also $FLEETPROF_URL (default: "                              \
      "unix:/run/fleetprof/api.sock)")                                                             \
    X(JSON, "json", 0, NULL, NULL, "", "print the API's JSON as it is")                            \
    X(SESSION, "session", 0, "ID", check_text, "a session's id, its beginning, or 'last'",         \
      "the window: what a session took; a unique beginning of its id will do, 'last' is the "      \
      "newest")                                                                                    \
    X(FROM, "from", 0, "TIME", check_time, "-1h, now, ISO 8601 or epoch seconds",                  \
      "the window's start: -1h (the default), now, ISO 8601, epoch seconds")                       \
    X(TO, "to", 0, "TIME", check_time, "-1h, now, ISO 8601 or epoch seconds",                      \
      "the window's end (default: now)")                                                           \
    X(SELECT, "select", 0, "SELECTOR", NULL, "",                                                   \
      "only these hosts and processes: service=checkout,zone!=eu-1,host=~^web")                    \
    X(EVENT, "event", 0, "EVENT", check_event, "cpu or offcpu",                                    \
      "what a sample means: cpu, time on a CPU (default); offcpu, time blocked or waiting to run") \
    X(SELECT_A, "select-a", 0, "SELECTOR", NULL, "", "narrows side A")                             \
    X(SELECT_B, "select-b", 0, "SELECTOR", NULL, "", "narrows side B")                             \
    X(BY, "by", 0, "KEYS", check_text, "function, binary, service, host or thread",                \
      "what a row is: function (the default), binary, service, host, thread, or several joined "   \
      "by commas")                                                                                 \
    X(LIMIT, "limit", 0, "N", check_limit, "a whole number; 0 prints all rows",                    \
      "rows to print (default of a ranking: 20; 0: all)")                                          \
    X(ALL, "all", 0, NULL, NULL, "", "print rows within the noise too")                            \
    X(HZ, "hz", 0, "N", check_hz, "a whole number from 1 to 10000",                                \
      "samples a second and CPU, or waiting thread (default for a start: 99, of offcpu 9)")        \
    X(FOR, "for", 0, "DURATION", check_duration, "a duration such as 30s, 5m or 1h30m",            \
      "how long (default: 30s)")                                                                   \
    X(NOTE, "note", 0, "TEXT", NULL, "", "why; kept with the session")                             \
    X(OWNER, "owner", 0, "NAME", check_text, "a name",                                             \
      "whose session it is, or who uploads (default: you)")                                        \
    X(FORCE, "force", 0, NULL, NULL, "", "replace a better symbol table, too")                     \
    X(WAIT, "wait", 0, NULL, NULL, "",                                                             \
      "follow the session to its end and print its ranking; Ctrl-C stops following, the session "  \
      "goes on")                                                                                   \
    X(FORMAT, "format", 0, "FORMAT", check_format, "pprof, collapsed or speedscope",               \
      "pprof (the default), collapsed or speedscope")                                              \
    X(OUTPUT, "output", 'o', "FILE", check_text, "a file's path, or - for standard output",        \
      "write to FILE (default: standard output)")

enum option_id {
#define X(NAME, name, key, argument, check, accepted, help) OPTION_##NAME,
    OPTION_LIST(X)
#undef X
        OPTIONS
};

typedef uint32_t option_set;
#define OPTION_BIT(NAME) (UINT32_C(1) << OPTION_##NAME)
#define OPTION_BITS_ALWAYS (OPTION_BIT(HELP) | OPTION_BIT(URL) | OPTION_BIT(JSON))
#define OPTION_BITS_WINDOW                                                          \
    (OPTION_BIT(SESSION) | OPTION_BIT(FROM) | OPTION_BIT(TO) | OPTION_BIT(SELECT) | \
     OPTION_BIT(EVENT))

#define LIMIT_DEFAULT_TEXT "20" /* LIMIT_DEFAULT, as a parameter */
enum { ARGUMENTS_MAX = 64, LIMIT_DEFAULT = 20, LIMIT_MAX = 1000000 };

struct options { /* texts are borrowed from the command line */
    const char *value[OPTIONS]; /* NULL: not given; "" for a flag that is */
    const char *argument[ARGUMENTS_MAX];
    unsigned argument_count;
};

struct usage {
    const char *name; /* "fleetprof top" */
    const char *arguments;
    unsigned arguments_min, arguments_max;
    option_set accepts; /* beside OPTION_BITS_ALWAYS */
    const char *text; /* of the help */
};

enum options_result {
    OPTIONS_READ,
    OPTIONS_HELPED, /* --help was given and answered on `out` */
    OPTIONS_WRONG, /* said on `err` what is wrong and what would be right */
};

/* argv[0] is the command's name. An argument that begins with '-' and a digit is a time, no option.
 */
enum options_result options_read(const struct usage *u, int argc, char **argv, FILE *out, FILE *err,
                                 struct options *o);

bool options_has(const struct options *o, enum option_id option);
/* The value, or `otherwise` when not given. */
const char *options_text(const struct options *o, enum option_id option, const char *otherwise);
uint64_t options_number(const struct options *o, enum option_id option, uint64_t otherwise);

#endif
