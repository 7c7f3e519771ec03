#include "tests/unit/symbols/workbench.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { COMMAND_MAX = 4096 };

static char folder[] = "/tmp/fleetprof-extract-XXXXXX";

enum { PATH_BYTES = 256 };

static void path_of(const char *name, char out[PATH_BYTES])
{
    snprintf(out, PATH_BYTES, "%s/%s", folder, name);
}

const char *workbench_path(const char *name)
{
    static char path[PATH_BYTES];

    path_of(name, path);
    return path;
}

bool workbench_run(const char *format, ...)
{
    char command[COMMAND_MAX], text[COMMAND_MAX];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(command, sizeof(command), format, arguments);
    va_end(arguments);
    assert_in_range(snprintf(text, sizeof(text), "cd %s && { %s; } >>log 2>&1", folder, command), 1,
                    sizeof(text) - 1);
    return system(text) == 0;
}

void workbench_write(const char *name, const char *content)
{
    char path[PATH_BYTES];
    FILE *f;

    path_of(name, path);
    f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

int workbench_open(const char *name)
{
    char path[PATH_BYTES];
    int fd;

    path_of(name, path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

enum status workbench_extract(const char *name, const char *root, struct symtab *out)
{
    const struct extract_options options = {root, true};
    int fd = workbench_open(name);
    enum status st = extract_symbols(fd, &options, out);

    close(fd);
    return st;
}

const struct symbol *symbol_like(const struct symtab *t, const char *part)
{
    for (uint32_t i = 0; i < t->count; i++)
        if (strstr(t->text + t->symbols[i].name, part) != NULL)
            return &t->symbols[i];
    return NULL;
}

static const char cpp_source[] =
    "#include <algorithm>\n"
    "#include <cstdio>\n"
    "#include <vector>\n"
    "static inline int square(int x) { return x * x + 1; }\n"
    "static inline int sum(int x) { int s = 0; for (int i = 0; i < x; i++) s += square(i) ^ x;\n"
    "    return s; }\n"
    "__attribute__((noinline)) int work(std::vector<int> &v)\n"
    "{\n"
    "    std::sort(v.begin(), v.end());\n"
    "    int s = 0;\n"
    "    for (int x : v) s += sum(x);\n"
    "    return s;\n"
    "}\n"
    "int main(int c, char **)\n"
    "{\n"
    "    std::vector<int> v;\n"
    "    for (int i = 0; i < 1000; i++) v.push_back((i * 7919 + c) % 1000);\n"
    "    printf(\"%d\\n\", work(v));\n"
    "}\n";

int workbench_make(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    workbench_write("a.cpp", cpp_source);
    return workbench_run(
               "g++ -O2 -g -o a a.cpp && strip -o stripped a && objcopy --only-keep-debug a "
               "a.debug")
               ? 0
               : -1;
}

int workbench_drop(void **state)
{
    (void)state;
    return workbench_run("rm -rf %s", folder) ? 0 : -1;
}
