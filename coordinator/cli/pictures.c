/* pictures - flame and export: a window as a file, for a browser or for another tool. */
#include <errno.h>
#include <string.h>

#include "coordinator/cli/cli.h"
#include "coordinator/cli/format.h"
#include "coordinator/cli/question.h"
#include "coordinator/cli/side.h"

static bool is_to_stdout(const struct options *o)
{
    return strcmp(options_text(o, OPTION_OUTPUT, "-"), "-") == 0;
}

static enum outcome write_file(struct cli *c, const char *path, const struct reply *r)
{
    char bytes[FORMAT_MAX];
    FILE *file = fopen(path, "wb");

    if (file == NULL)
        return cli_fail(c, OUTCOME_FAILED, "%s cannot be written: %s", path, strerror(errno));
    bool whole = fwrite(r->body, 1, r->length, file) == r->length;
    int error = errno;
    if (fclose(file) != 0 && whole) {
        error = errno;
        whole = false;
    }
    if (!whole)
        return cli_fail(c, OUTCOME_FAILED, "%s is not complete: %s", path, strerror(error));
    fprintf(c->out, "%s: %s\n", path, format_bytes((double)r->length, bytes));
    return OUTCOME_DONE;
}

/* Asks for the file and writes it where --output says. */
static enum outcome fetch(struct cli *c, const struct options *o, const struct path *p)
{
    struct reply r = {0};
    enum outcome outcome = ask(c, p, &r);

    if (outcome != OUTCOME_DONE)
        return outcome;
    if (!is_to_stdout(o))
        outcome = write_file(c, options_text(o, OPTION_OUTPUT, ""), &r);
    else if (fwrite(r.body, 1, r.length, c->out) != r.length)
        outcome = OUTCOME_FAILED; /* cli_main says so of every broken output */
    reply_deinit(&r);
    return outcome;
}

/* An option that would be ignored is refused. */
static enum outcome check_sides(struct cli *c, const struct options *o)
{
    bool window = options_has(o, OPTION_SESSION) || options_has(o, OPTION_FROM) ||
                  options_has(o, OPTION_TO) || options_has(o, OPTION_SELECT);
    bool sides = options_has(o, OPTION_SELECT_A) || options_has(o, OPTION_SELECT_B);

    if (o->argument_count == 1)
        return cli_fail(c, OUTCOME_USAGE,
                        "'%s' is one side; give two to compare, or --session for one",
                        o->argument[0]);
    if (o->argument_count == 2 && window)
        return cli_fail(c, OUTCOME_USAGE,
                        "two sides are windows themselves; narrow them with --select-a and "
                        "--select-b, and leave --session, --from, --to and --select away");
    if (o->argument_count == 0 && sides)
        return cli_fail(c, OUTCOME_USAGE,
                        "--select-a and --select-b narrow two sides; give A and B, or --select");
    return OUTCOME_DONE;
}

enum outcome command_flame(struct cli *c, const struct options *o)
{
    struct path p;
    bool json = options_has(o, OPTION_JSON);
    enum outcome outcome = check_sides(c, o);

    if (outcome != OUTCOME_DONE)
        return outcome;
    if (!json && is_to_stdout(o) && c->screen.terminal)
        return cli_fail(c, OUTCOME_USAGE, "the page is for a browser; give -o FILE.html");
    path_begin(&p, "/flame");
    outcome = o->argument_count == 2 ? add_sides(c, o, &p) : add_window(c, o, &p);
    if (outcome != OUTCOME_DONE)
        return outcome;
    path_add(&p, "format", json ? "json" : "html");
    return fetch(c, o, &p);
}

enum outcome command_export(struct cli *c, const struct options *o)
{
    struct path p;
    const char *format = options_text(o, OPTION_FORMAT, "pprof");

    if (strcmp(format, "pprof") == 0 && is_to_stdout(o) && c->screen.terminal)
        return cli_fail(c, OUTCOME_USAGE, "pprof is not for a terminal; give -o FILE.pb.gz");
    path_begin(&p, "/export");
    enum outcome outcome = add_window(c, o, &p);
    if (outcome != OUTCOME_DONE)
        return outcome;
    path_add(&p, "format", format);
    return fetch(c, o, &p);
}
