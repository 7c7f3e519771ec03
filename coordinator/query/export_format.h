/* export_format - what the formats of query/export share. */
#ifndef COORDINATOR_QUERY_EXPORT_FORMAT_H
#define COORDINATOR_QUERY_EXPORT_FORMAT_H

#include <math.h>
#include <stdio.h>

#include "coordinator/query/export.h"

#define X(NAME, name, media)                                                 \
    enum status export_##name(const struct profile *p, struct symbolizer *s, \
                              const struct dictionary *d, struct blob *out);
EXPORT_FORMAT_LIST(X)
#undef X

/* Rounds weights one after the other; what one loses the next gets, so that the sum of all is at
 * most half a ns off. Starts from 0. */
static inline uint64_t export_round(double *carry, double weight_ns)
{
    double wanted = weight_ns + *carry, whole = fmax(0, floor(wanted + 0.5));

    *carry = wanted - whole;
    return (uint64_t)whole;
}

struct export_text { /* grows as it is written */
    FILE *file;
    char *bytes;
    size_t length;
};
enum status export_text_open(struct export_text *t);
/* ST_NOMEM: a write failed; ST_TOO_BIG: over EXPORT_BYTES_MAX. */
enum status export_text_check(const struct export_text *t);
/* Hands the text over if `st` is ST_OK and all of it could be written; else drops it and says why.
 */
enum status export_text_end(struct export_text *t, enum status st, struct blob *out);

#endif
