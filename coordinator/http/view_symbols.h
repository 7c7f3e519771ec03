/* view_symbols - symbol tables in the API's form. */
#ifndef COORDINATOR_HTTP_VIEW_SYMBOLS_H
#define COORDINATOR_HTTP_VIEW_SYMBOLS_H

#include <jansson.h>

#include "common/symtab.h"

const char *view_symbol_quality(enum symtab_grade g); /* "exports", "functions", ... */
json_t *view_symbol_sources(uint32_t sources); /* ["symtab", "dwarf"]; NULL: out of memory */

#endif
