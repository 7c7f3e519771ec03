/* config - a YAML file read into a plain struct, described by a table.
 * The table names each key, its type, default and range, so that errors name the key, the value and
 * what would be accepted, and so that --help and the man pages can print it. */
#ifndef COMMON_CONFIG_H
#define COMMON_CONFIG_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { CONFIG_WHY_MAX = 256 };

enum config_type {
    CONFIG_STRING, /* char *; NULL without a default */
    CONFIG_U64, /* uint64_t within [min, max] */
    CONFIG_DURATION, /* uint64_t ns, written "30s" */
    CONFIG_BYTES, /* uint64_t, written "64MiB", "10GB" or plain bytes */
    CONFIG_BOOL, /* bool */
    CONFIG_LIST, /* struct config_list: a sequence of strings */
};

struct config_list {
    char **items;
    unsigned count;
};

struct config_key {
    const char *name; /* as in the file; lower case with underscores */
    enum config_type type;
    size_t offset; /* of the member in the target struct */
    const char *fallback; /* the default as the file would write it; NULL: zero or NULL */
    uint64_t min, max; /* numbers only; max 0: no upper limit */
    const char *help; /* one line */
};

/* Fills `target` with the defaults, then from the file. `path` NULL: defaults only.
 * ST_NOT_FOUND: no such file. ST_INVALID: `why` names line or key, value and what is accepted.
 * On failure nothing stays allocated. */
enum status config_load(const char *path, const struct config_key *keys, size_t key_count,
                        void *target, char why[CONFIG_WHY_MAX]);
/* Sets one key from text, as an option on the command line does; it overrides the file. */
enum status config_set(const struct config_key *keys, size_t key_count, void *target,
                       const char *name, const char *text, char why[CONFIG_WHY_MAX]);
void config_free(const struct config_key *keys, size_t key_count, void *target);

#endif
