#include "coordinator/cli/options.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/event.h"
#include "common/when.h"
#include "coordinator/cli/client.h"

enum {
    KEY_FIRST = 0x100, /* argp keys above every character: not a short option */
    DIGITS = 10,
};

struct option_row {
    const char *name;
    int key;
    const char *argument;
    bool (*check)(const char *value);
    const char *accepted;
    const char *help;
};

/* ---- values that can be right ---- */

static bool check_text(const char *value)
{
    return value[0] != '\0';
}

static bool check_url(const char *value)
{
    return client_url_valid(value);
}

static bool check_number(const char *value, uint64_t low, uint64_t high)
{
    char *end;

    if (!isdigit((unsigned char)value[0]))
        return false;
    errno = 0;
    unsigned long long n = strtoull(value, &end, 10);
    return errno == 0 && *end == '\0' && n >= low && n <= high;
}

static bool check_hz(const char *value)
{
    return check_number(value, HZ_MIN, HZ_MAX);
}

static bool check_limit(const char *value)
{
    return check_number(value, 0, LIMIT_MAX);
}

static bool check_duration(const char *value)
{
    uint64_t ns;

    return duration_parse(value, &ns) == ST_OK && ns > 0;
}

/* The form alone: what a relative time means is for the coordinator's clock to say. */
static bool check_time(const char *value)
{
    struct wall t;

    return when_parse(value, clock_wall(), &t) == ST_OK;
}

static bool check_event(const char *value)
{
    enum event e;

    return event_parse(value, &e);
}

static bool check_format(const char *value)
{
    return strcmp(value, "pprof") == 0 || strcmp(value, "collapsed") == 0 ||
           strcmp(value, "speedscope") == 0;
}

static const struct option_row rows[OPTIONS] = {
#define X(NAME, name, key, argument, check, accepted, help) \
    {name, key, argument, check, accepted, help},
    OPTION_LIST(X)
#undef X
};

/* ---- reading ---- */

struct reading {
    const struct usage *usage;
    struct options options;
    FILE *out, *err;
    bool wrong; /* said what is */
};

static int key_of(unsigned option)
{
    return rows[option].key != 0 ? rows[option].key : KEY_FIRST + (int)option;
}

static bool is_always(unsigned option)
{
    return (OPTION_BITS_ALWAYS >> option & 1) != 0;
}

static bool is_accepted(const struct usage *u, unsigned option)
{
    return is_always(option) || (u->accepts >> option & 1) != 0;
}

/* What argp is to know: the accepted options, and each digit as a hidden one, so that "-1h" is read
 * as a time among the arguments. */
static void list_options(const struct usage *u, struct argp_option out[OPTIONS + DIGITS + 1])
{
    unsigned count = 0;

    for (unsigned i = 0; i < OPTIONS; i++) {
        if (is_accepted(u, i))
            out[count++] = (struct argp_option){.name = rows[i].name,
                                                .key = key_of(i),
                                                .arg = rows[i].argument,
                                                .doc = rows[i].help,
                                                .group = is_always(i) ? -1 : 1};
    }
    for (int digit = 0; digit < DIGITS; digit++)
        out[count++] = (struct argp_option){
            .key = '0' + digit, .arg = "TIME", .flags = OPTION_HIDDEN | OPTION_ARG_OPTIONAL};
    out[count] = (struct argp_option){0};
}

static error_t refuse(struct reading *r)
{
    r->wrong = true;
    return EINVAL;
}

static error_t take_argument(struct reading *r, const char *value)
{
    const struct usage *u = r->usage;

    if (r->options.argument_count == u->arguments_max) {
        fprintf(r->err, "%s: '%s' is one argument too many; accepted: %s\n", u->name, value,
                u->arguments ? u->arguments : "options only");
        return refuse(r);
    }
    r->options.argument[r->options.argument_count++] = value;
    return 0;
}

static error_t take_option(struct reading *r, unsigned option, const char *value)
{
    const struct option_row *row = &rows[option];

    if (value != NULL && row->check != NULL && !row->check(value)) {
        fprintf(r->err, "%s: --%s '%s' is not accepted; give %s\n", r->usage->name, row->name,
                value, row->accepted);
        return refuse(r);
    }
    r->options.value[option] = value != NULL ? value : "";
    return 0;
}

static error_t check_complete(struct reading *r)
{
    const struct usage *u = r->usage;

    if (r->options.argument_count >= u->arguments_min || options_has(&r->options, OPTION_HELP))
        return 0;
    fprintf(r->err, "%s: %s is missing; see %s --help\n", u->name, u->arguments, u->name);
    return refuse(r);
}

/* What getopt could not read: an option that there is not, or one whose value is missing. */
static void refuse_option(struct reading *r, const char *given)
{
    const struct usage *u = r->usage;
    size_t dashes = strspn(given, "-");

    r->wrong = true;
    fprintf(r->err, "%s: ", u->name);
    for (unsigned i = 0; i < OPTIONS; i++) {
        bool is_short = dashes == 1 && given[1] == rows[i].key && given[2] == '\0';

        if (!is_accepted(u, i) || (!is_short && strcmp(given + dashes, rows[i].name) != 0))
            continue;
        fprintf(r->err, "%s needs a value: %s\n", given, rows[i].accepted);
        return;
    }
    fprintf(r->err, "'%s' is not accepted; these options are:", given);
    for (unsigned i = 0; i < OPTIONS; i++)
        if (is_accepted(u, i))
            fprintf(r->err, " --%s", rows[i].name);
    fputc('\n', r->err);
}

static error_t on_key(int key, char *value, struct argp_state *state)
{
    struct reading *r = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->out_stream = r->out;
        state->err_stream = r->err;
        return 0;
    case ARGP_KEY_ARG:
        return take_argument(r, value);
    case ARGP_KEY_END:
        return check_complete(r);
    case ARGP_KEY_ERROR:
        if (!r->wrong && state->next > 0)
            refuse_option(r, state->argv[state->next - 1]);
        return 0;
    default:
        break;
    }
    if (key >= '0' && key < '0' + DIGITS)
        return take_argument(r, state->argv[state->next - 1]);
    for (unsigned i = 0; i < OPTIONS; i++)
        if (key == key_of(i) && is_accepted(r->usage, i))
            return take_option(r, i, value);
    return ARGP_ERR_UNKNOWN;
}

enum options_result options_read(const struct usage *u, int argc, char **argv, FILE *out, FILE *err,
                                 struct options *o)
{
    struct argp_option list[OPTIONS + DIGITS + 1];
    struct argp argp = {
        .options = list, .parser = on_key, .args_doc = u->arguments, .doc = u->text};
    struct reading r = {.usage = u, .out = out, .err = err};
    const unsigned flags = ARGP_NO_EXIT | ARGP_NO_HELP | ARGP_NO_ERRS | ARGP_IN_ORDER;

    list_options(u, list);
    if (argp_parse(&argp, argc, argv, flags, NULL, &r) != 0)
        return OPTIONS_WRONG;
    if (options_has(&r.options, OPTION_HELP)) {
        argp_help(&argp, out, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK, argv[0]);
        return OPTIONS_HELPED;
    }
    *o = r.options;
    return OPTIONS_READ;
}

bool options_has(const struct options *o, enum option_id option)
{
    return o->value[option] != NULL;
}

const char *options_text(const struct options *o, enum option_id option, const char *otherwise)
{
    return o->value[option] != NULL ? o->value[option] : otherwise;
}

uint64_t options_number(const struct options *o, enum option_id option, uint64_t otherwise)
{
    return o->value[option] != NULL ? strtoull(o->value[option], NULL, 10) : otherwise;
}
