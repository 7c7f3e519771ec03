/* workbench - a folder in which tests make binaries with the compilers at hand. One a program. */
#ifndef TESTS_UNIT_SYMBOLS_WORKBENCH_H
#define TESTS_UNIT_SYMBOLS_WORKBENCH_H

#include <stdbool.h>

#include "common/symbols/extract.h"

/* In there from the start: a.cpp, which inlines square into sum into work; a, made of it by
 * g++ -O2 -g; stripped; and a.debug, which has what stripped lacks. */
int workbench_make(void **state);
int workbench_drop(void **state);
const char *workbench_path(const char *name); /* until the next call */

/* A shell command in the folder; false: it failed. */
__attribute__((format(printf, 1, 2))) bool workbench_run(const char *format, ...);
void workbench_write(const char *name, const char *content);
int workbench_open(const char *name);
enum status workbench_extract(const char *name, const char *root, struct symtab *out);

/* The first symbol whose name contains `part`. */
const struct symbol *symbol_like(const struct symtab *t, const char *part);

#endif
