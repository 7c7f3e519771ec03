/* export - a profile in the formats of other tools. Every address without a name has a function
 * too, since viewers drop frames without one. Weights are whole ns, rounded so that their sum is
 * the profile's. The result owns its bytes. */
#ifndef COORDINATOR_QUERY_EXPORT_H
#define COORDINATOR_QUERY_EXPORT_H

#include "common/compress.h"
#include "coordinator/query/profile.h"
#include "coordinator/query/symbolize.h"

/* NAME, name, media type */
#define EXPORT_FORMAT_LIST(X)                            \
    X(PPROF, pprof, "application/octet-stream")          \
    X(COLLAPSED, collapsed, "text/plain; charset=utf-8") \
    X(SPEEDSCOPE, speedscope, "application/json")

enum export_format {
#define X(NAME, name, media) EXPORT_##NAME,
    EXPORT_FORMAT_LIST(X)
#undef X
};

enum status export_format_parse(const char *text, enum export_format *out); /* ST_INVALID */
const char *export_media_type(enum export_format f);

/* What all formats can hold: pprof and speedscope count in 64 bits and doubles. 285 years of CPU
 * time; a thousand hosts of 64 cores need 39 hours for it. */
#define EXPORT_WEIGHT_NS_MAX 9e18
enum { EXPORT_BYTES_MAX = 1 << 30 }; /* of a text: what one answer may take of the memory */

/* pprof: gzip; sample types samples/count and cpu/nanoseconds, mappings with build ids, labels
 * host, service, comm and thread, the period, and the coverage as comments; a sample is a stack of
 * one task, a location a frame with a line for each function inlined there. collapsed:
 * "root;...;leaf WEIGHT_NS" by names, sorted; a ';' in a name becomes ':', a control character ' '.
 * speedscope: one sampled profile in nanoseconds. ST_TOO_BIG: over a limit above, or over 2 GiB of
 * protobuf. */
enum status export_profile(const struct profile *p, struct symbolizer *s,
                           const struct dictionary *d, enum export_format f, struct blob *out);

#endif
