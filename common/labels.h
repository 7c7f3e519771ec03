/* labels - a small sorted set of key=value pairs that describes a host or a process.
 * Keys are [a-z][a-z0-9_.-]*; values are any UTF-8 without control characters. A set owns copies of
 * its texts. Not thread safe; a set that no one changes may be read from anywhere. */
#ifndef COMMON_LABELS_H
#define COMMON_LABELS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

enum {
    LABELS_MAX = 64, /* pairs in a set: host, kernel, cpu, version ... and the operator's own */
    LABEL_KEY_MAX = 63, /* bytes, as DNS labels */
    LABEL_VALUE_MAX = 255, /* bytes; cgroup paths are cut to fit by whoever sets them */
};

struct label {
    char *key;
    char *value;
};

struct labels { /* zero-initialised is the empty set */
    struct label *items; /* sorted by key */
    size_t count;
};

void labels_deinit(struct labels *l); /* leaves the empty set */
/* Replaces the value when the key is there. ST_INVALID: bad key or value; ST_FULL; ST_TOO_BIG. */
enum status labels_set(struct labels *l, const char *key, const char *value);
/* Takes "key=value". */
enum status labels_set_pair(struct labels *l, const char *pair);
const char *labels_get(const struct labels *l, const char *key); /* NULL: absent; until l changes */
enum status labels_copy(const struct labels *from, struct labels *out);
bool labels_equal(const struct labels *a, const struct labels *b);
/* `base` with the pairs of `over` laid over it. */
enum status labels_merge(const struct labels *base, const struct labels *over, struct labels *out);

#endif
