/* id - the identities that cross hosts: 128-bit random ids and build ids. Plain values. */
#ifndef COMMON_ID_H
#define COMMON_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum {
    ID128_BYTES = 16,
    ID128_TEXT_MAX = 33, /* 32 hex digits and a NUL */
    BUILD_ID_BYTES = 32, /* GNU ids are 20 (sha1) or 8, content hashes 32 (blake2 or sha256) */
    BUILD_ID_TEXT_MAX = 65 /* two hex digits a byte and a NUL */
};

struct id128 {
    uint8_t bytes[ID128_BYTES];
};

/* A binary's identity: its GNU build id, else a hash of its content. length 0: not known. */
struct build_id {
    uint8_t length;
    uint8_t bytes[BUILD_ID_BYTES]; /* zero after `length`, so that whole structs compare */
};

struct id128 id128_random(void);
bool id128_equal(struct id128 a, struct id128 b);
bool id128_is_zero(struct id128 id);
const char *id128_format(struct id128 id, char text[ID128_TEXT_MAX]);
enum status id128_parse(const char *text, struct id128 *out); /* exactly 32 hex digits */

uint64_t random_u64(void); /* from the kernel's generator */

/* ST_TOO_BIG: over BUILD_ID_BYTES; ST_INVALID: empty. */
enum status build_id_from_bytes(const uint8_t *bytes, size_t length, struct build_id *out);
bool build_id_equal(const struct build_id *a, const struct build_id *b);
const char *build_id_format(const struct build_id *id, char text[BUILD_ID_TEXT_MAX]);
enum status build_id_parse(const char *text, struct build_id *out);

#endif
