/* The routing table and schemas/openapi.yaml say the same: paths, methods, query parameters.
 * A scan of the file's lines, which therefore keeps to one form (two blanks a level, a parameter
 * a line). */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator/http/call.h"

enum { NAMES_MAX = 512, OPERATIONS_MAX = 64, LINE = 512 };

struct operation {
    char method[8], path[64];
    char parameters[NAMES_MAX]; /* sorted names, each with a blank after it */
};

struct table {
    struct operation items[OPERATIONS_MAX];
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort_names(char names[NAMES_MAX])
{
    char copy[NAMES_MAX], *rest = NULL, *words[64];
    size_t count = 0;

    strcpy(copy, names);
    for (char *w = strtok_r(copy, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest))
        words[count++] = w;
    if (count > 0)
        qsort(words, count, sizeof(words[0]), by_text);
    names[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        strcat(names, words[i]);
        strcat(names, " ");
    }
}

static int by_path(const void *a, const void *b)
{
    const struct operation *x = a, *y = b;
    int order = strcmp(x->path, y->path);

    return order != 0 ? order : strcmp(x->method, y->method);
}

static void sort_table(struct table *t)
{
    for (size_t i = 0; i < t->count; i++)
        sort_names(t->items[i].parameters);
    qsort(t->items, t->count, sizeof(t->items[0]), by_path);
}

static struct operation *add(struct table *t, const char *method, const char *path)
{
    struct operation *o = &t->items[t->count++];

    assert_true(t->count <= OPERATIONS_MAX);
    (void)snprintf(o->method, sizeof(o->method), "%s", method);
    (void)snprintf(o->path, sizeof(o->path), "%s", path);
    return o;
}

static void read_routes(struct table *t)
{
#define X(method, path, handler, query) \
    (void)snprintf(add(t, #method, path)->parameters, NAMES_MAX, "%s", query);
#include "coordinator/http/routes.def"
#undef X
    sort_table(t);
}

static bool is_method(const char *line, char method[8])
{
    static const char *const methods[] = {"get", "post", "put", "delete", "patch", "head"};
    char expected[16];

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        (void)snprintf(expected, sizeof(expected), "    %s:", methods[i]);
        if (strcmp(line, expected) != 0)
            continue;
        for (size_t at = 0; at <= strlen(methods[i]); at++)
            method[at] = (char)toupper(methods[i][at]);
        return true;
    }
    return false;
}

/* Of an operation, not of a path: the indent tells. */
static bool is_parameter(const char *line, char name[LINE])
{
    return sscanf(line, "        - $ref: \"#/components/parameters/%[a-z_]\"", name) == 1 ||
           sscanf(line, "        - name: %s", name) == 1;
}

static void read_line(struct table *t, const char *line, char path[LINE], struct operation **now)
{
    char method[8], name[LINE];

    if (strncmp(line, "  /", 3) == 0) {
        (void)snprintf(path, LINE, "%.*s", (int)strcspn(line + 2, ":"), line + 2);
        *now = NULL;
    } else if (is_method(line, method)) {
        *now = add(t, method, path);
    } else if (*now != NULL && strncmp(line, "        - ", 10) == 0 && is_parameter(line, name)) {
        strcat((*now)->parameters, name);
        strcat((*now)->parameters, " ");
    }
}

static void read_schema(struct table *t)
{
    FILE *f = fopen(FLEETPROF_SOURCE "/schemas/openapi.yaml", "re");
    struct operation *now = NULL;
    char line[LINE], path[LINE] = "";
    bool inside = false;

    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != ' ' && line[0] != '\0')
            inside = strcmp(line, "paths:") == 0;
        else if (inside)
            read_line(t, line, path, &now);
    }
    (void)fclose(f);
    sort_table(t);
}

static void every_route_is_described_and_every_description_has_its_route(void **state)
{
    static struct table routes, described;

    (void)state;
    read_routes(&routes);
    read_schema(&described);
    for (size_t i = 0; i < routes.count && i < described.count; i++) {
        const struct operation *r = &routes.items[i], *d = &described.items[i];

        assert_string_equal(r->path, d->path);
        assert_string_equal(r->method, d->method);
        assert_string_equal(r->parameters, d->parameters);
    }
    assert_int_equal(routes.count, described.count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_route_is_described_and_every_description_has_its_route),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
