/* symbols - list and upload: the names that the coordinator knows binaries by.
 * A file is read here, so that what a hostile one does, it does to its operator's command alone;
 * the coordinator gets a packed table, which it checks. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/symbols/debug_file.h"
#include "common/symbols/elf.h"
#include "common/symbols/extract.h"
#include "common/symtab.h"
#include "coordinator/cli/cli.h"
#include "coordinator/cli/field.h"
#include "coordinator/cli/format.h"
#include "coordinator/cli/grid.h"
#include "coordinator/cli/question.h"
#include "coordinator/cli/user.h"

enum {
    PART_BYTES = 1 << 20, /* what the coordinator takes as one body */
    BUILD_ID_SHOWN = 12, /* hex digits in a table for people */
};

/* ---- list ---- */

static const struct grid_column table_columns[] = {
    {"BUILD ID", GRID_TEXT},  {"SYMBOLS", GRID_NUMBER}, {"QUALITY", GRID_TEXT},
    {"BYTES", GRID_NUMBER},   {"STORED", GRID_TEXT},    {"FROM", GRID_TEXT},
    {"BINARY", GRID_SHRINKS},
};
enum { TABLE_COLUMNS = sizeof(table_columns) / sizeof(table_columns[0]) };

static const char *or_dash(const char *text)
{
    return text[0] != '\0' ? text : "-";
}

static void add_table(struct cli *c, struct grid *g, const struct json_t *t)
{
    const char *path = field_text(t, "path"), *name = field_text(t, "name");
    char text[FORMAT_MAX];

    grid_row(g, TONE_PLAIN);
    grid_cell(g, "%.*s", BUILD_ID_SHOWN, field_text(t, "build_id"));
    grid_cell(g, "%s", format_count(field_number(t, "symbols"), text));
    grid_cell(g, "%s", or_dash(field_text(t, "quality")));
    grid_cell(g, "%s", format_bytes(field_number(t, "bytes"), text));
    grid_cell(g, "%s", format_ago(field_text(t, "stored"), c->now, text));
    grid_cell(g, "%s %s", or_dash(field_text(t, "origin")), field_text(t, "from"));
    grid_cell(g, "%s", or_dash(path[0] != '\0' ? path : name));
}

static void print_cut(struct cli *c, const struct json_t *list, double found)
{
    double shown = (double)field_count(list);
    char text[FORMAT_MAX];

    if (found > shown)
        fprintf(c->out, "%s more; --limit 0 prints all\n", format_count(found - shown, text));
}

static void print_tables(struct cli *c, const struct json_t *tables)
{
    struct grid *g = grid_new(table_columns, TABLE_COLUMNS);

    for (size_t i = 0; i < field_count(tables); i++)
        add_table(c, g, field_at(tables, i));
    grid_print(g, c->out, &c->screen);
    grid_free(g);
}

static void print_missing(struct cli *c, const struct json_t *missing)
{
    static const struct grid_column columns[] = {{"BUILD ID", GRID_TEXT}, {"BINARY", GRID_SHRINKS}};
    struct grid *g = grid_new(columns, 2);

    for (size_t i = 0; i < field_count(missing); i++) {
        grid_row(g, TONE_WARN);
        grid_cell(g, "%s", field_text(field_at(missing, i), "build_id")); /* to look a file up by */
        grid_cell(g, "%s", or_dash(field_text(field_at(missing, i), "path")));
    }
    grid_print(g, c->out, &c->screen);
    grid_free(g);
}

static void print_list(struct cli *c, const struct options *o, const struct json_t *answer)
{
    const struct json_t *tables = field(answer, "tables"), *missing = field(answer, "missing");
    double missing_found = field_number(answer, "missing_found");
    char text[FORMAT_MAX];

    (void)o;
    if (field_count(tables) > 0)
        print_tables(c, tables);
    else
        fputs("No symbols yet.\n", c->out);
    print_cut(c, tables, field_number(answer, "tables_found"));
    if (missing_found == 0)
        return;
    fprintf(c->out, "\nSamples ran through %s that %s no symbols:\n",
            missing_found == 1 ? "a binary" : format_count(missing_found, text),
            missing_found == 1 ? "has" : "have");
    print_missing(c, missing);
    print_cut(c, missing, missing_found);
}

static enum outcome list(struct cli *c, const struct options *o)
{
    struct path p;

    if (o->argument_count > 1)
        return cli_fail(c, OUTCOME_USAGE, "list takes no argument, and '%s' is one",
                        o->argument[1]);
    path_begin(&p, "/symbols");
    path_add(&p, "limit", options_text(o, OPTION_LIMIT, "0"));
    return ask_and_print(c, o, &p, print_list);
}

/* ---- upload ---- */

struct upload { /* of one file */
    const char *file;
    struct build_id id;
    char id_text[BUILD_ID_TEXT_MAX];
    struct blob packed;
};

/* Names and places, those of a separate debug file that is installed here among them. */
static enum outcome pack(struct cli *c, int fd, struct upload *u)
{
    static const struct extract_options options = {DEBUG_FILE_ROOT, .places = true};
    struct symtab t = {0};
    enum status st = extract_symbols(fd, &options, &t);

    if (st == ST_NOT_FOUND)
        return cli_fail(c, OUTCOME_FAILED,
                        "%s: build id %s, but no symbols; give the binary as it was before it was "
                        "stripped, or its separate debug file",
                        u->file, u->id_text);
    if (st == ST_OK)
        st = symtab_encode(&t, &u->packed);
    symtab_deinit(&t);
    return st == ST_OK ? OUTCOME_DONE
                       : cli_fail(c, OUTCOME_FAILED, "%s: %s", u->file, status_text(st));
}

static enum outcome read_elf(struct cli *c, int fd, struct upload *u)
{
    enum status st = elf_build_id(fd, &u->id);

    if (st == ST_INVALID)
        return cli_fail(c, OUTCOME_FAILED,
                        "%s: not an ELF file; give a binary or its separate debug file", u->file);
    if (st == ST_OK && u->id.length == 0)
        return cli_fail(c, OUTCOME_FAILED,
                        "%s: no build id; link with --build-id so that its samples can be known",
                        u->file);
    if (st != ST_OK)
        return cli_fail(c, OUTCOME_FAILED, "%s: %s", u->file, status_text(st));
    build_id_format(&u->id, u->id_text);
    return pack(c, fd, u);
}

static enum outcome read_file(struct cli *c, struct upload *u)
{
    int fd = open(u->file, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for */
    struct stat st;
    enum outcome outcome;

    if (fd < 0)
        return cli_fail(c, OUTCOME_FAILED, "%s: %s", u->file, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        outcome = cli_fail(c, OUTCOME_FAILED,
                           "%s: not a file; give a binary or its separate debug file", u->file);
    else
        outcome = read_elf(c, fd, u);
    close(fd);
    return outcome;
}

static enum outcome send_part(struct cli *c, const struct options *o, const struct upload *u,
                              size_t part, size_t parts, struct reply *out)
{
    size_t at = part * PART_BYTES, left = u->packed.length - at;
    const char *slash = strrchr(u->file, '/');
    char number[24];
    struct path p;

    path_begin(&p, "/symbols");
    path_add(&p, "build_id", u->id_text);
    snprintf(number, sizeof(number), "%zu", part);
    path_add(&p, "part", number);
    snprintf(number, sizeof(number), "%zu", parts);
    path_add(&p, "parts", number);
    path_add(&p, "name", slash != NULL ? slash + 1 : u->file);
    path_add(&p, "owner", options_text(o, OPTION_OWNER, user_name()));
    path_add(&p, "force", options_has(o, OPTION_FORCE) ? "true" : NULL);
    return ask_post_bytes(c, &p, u->packed.bytes + at, left < PART_BYTES ? left : PART_BYTES, out);
}

static void print_stored(struct cli *c, const char *file, const struct json_t *answer)
{
    const struct json_t *sources = field(answer, "sources");
    char count[FORMAT_MAX];

    fprintf(c->out, "%s: build id %s, %s symbols, quality %s, from", file,
            field_text(answer, "build_id"), format_count(field_number(answer, "symbols"), count),
            field_text(answer, "quality"));
    for (size_t i = 0; i < field_count(sources); i++)
        fprintf(c->out, "%s %s", i > 0 ? "," : "", field_text_at(sources, i));
    fputc('\n', c->out);
}

static enum outcome print_answer_of(struct cli *c, const struct options *o, const char *file,
                                    const struct reply *r)
{
    struct json_t *answer = NULL;
    enum outcome outcome;

    if (options_has(o, OPTION_JSON)) {
        print_as_is(c, r);
        return OUTCOME_DONE;
    }
    outcome = parse_reply(c, r, &answer);
    if (outcome == OUTCOME_DONE)
        print_stored(c, file, answer);
    answer_free(answer);
    return outcome;
}

static enum outcome upload_file(struct cli *c, const struct options *o, const char *file)
{
    struct upload u = {.file = file};
    enum outcome outcome = read_file(c, &u);
    size_t parts = (u.packed.length + PART_BYTES - 1) / PART_BYTES;

    for (size_t i = 0; i < parts && outcome == OUTCOME_DONE; i++) {
        struct reply r = {0};

        outcome = send_part(c, o, &u, i, parts, &r);
        if (outcome == OUTCOME_DONE && i + 1 == parts)
            outcome = print_answer_of(c, o, file, &r);
        reply_deinit(&r);
    }
    blob_deinit(&u.packed);
    return outcome;
}

/* Every file is tried; what failed is said, and what it ends with is the last failure's. */
static enum outcome upload(struct cli *c, const struct options *o)
{
    enum outcome outcome = OUTCOME_DONE;

    if (o->argument_count < 2)
        return cli_fail(c, OUTCOME_USAGE,
                        "upload needs a FILE: a binary or its separate debug "
                        "file");
    for (unsigned i = 1; i < o->argument_count; i++) {
        enum outcome of_file = upload_file(c, o, o->argument[i]);

        if (of_file != OUTCOME_DONE)
            outcome = of_file;
    }
    return outcome;
}

enum outcome command_symbols(struct cli *c, const struct options *o)
{
    if (strcmp(o->argument[0], "list") == 0)
        return list(c, o);
    if (strcmp(o->argument[0], "upload") == 0)
        return upload(c, o);
    return cli_fail(c, OUTCOME_USAGE, "'%s' is not accepted; list and upload FILE... are",
                    o->argument[0]);
}
