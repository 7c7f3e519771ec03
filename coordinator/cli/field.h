/* field - reads the API's JSON. Total: a field that is absent or of another type is empty, zero or
 * false, so that a newer or older coordinator is shown as far as it goes. */
#ifndef COORDINATOR_CLI_FIELD_H
#define COORDINATOR_CLI_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "coordinator/cli/format.h"

struct json_t; /* jansson's value; owned by whoever parsed it */

const char *field_text(const struct json_t *o, const char *key); /* "" when absent; borrowed */
/* An id may be a number or a text; written into `buffer`. */
enum { FIELD_ID_MAX = 64 };
const char *field_id(const struct json_t *o, const char *key, char buffer[FIELD_ID_MAX]);
double field_number(const struct json_t *o, const char *key);
/* A share as "12.3%"; "-" where it is not known. */
const char *field_percent(const struct json_t *o, const char *key, char text[FORMAT_MAX]);
bool field_is_number(const struct json_t *o, const char *key); /* neither absent nor null */
bool field_flag(const struct json_t *o, const char *key);
/* The object or array below `key`; NULL, which every reader here takes as empty, when absent. */
const struct json_t *field(const struct json_t *o, const char *key);
size_t field_count(const struct json_t *array);
const struct json_t *field_at(const struct json_t *array, size_t index);
const char *field_text_at(const struct json_t *array, size_t index);

/* "a=1, b=2" of the members whose number is not zero; "" when none. Returns `out`. */
const char *field_nonzero(const struct json_t *o, char *out, size_t room);
/* "a=1 b=2" of an object of texts. Returns `out`. */
const char *field_pairs(const struct json_t *o, char *out, size_t room);

#endif
