/* wire - msgpack, written by msgpack-c and read by a bounded pull decoder.
 * Maps on the wire have small unsigned keys. Both sides are sticky: after the first failure every
 * call is a no-op that returns zero, and the status says what was wrong first.
 * The reader allocates nothing; slices are lent from the input. No declared count or length is
 * believed before it is checked against the bytes that are left and the caller's limit. */
#ifndef COMMON_WIRE_H
#define COMMON_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum { WIRE_DEPTH_MAX = 8 }; /* nesting that wire_skip follows; deeper is ST_TOO_BIG */

struct slice { /* lent bytes */
    const uint8_t *bytes;
    size_t length;
};

/* ---- writing ---- */

struct wire_writer; /* opaque: a growing buffer */

enum status wire_writer_new(size_t limit_bytes, struct wire_writer **out);
void wire_writer_free(struct wire_writer *w); /* NULL is fine */
void wire_writer_reset(struct wire_writer *w); /* empty again, status ok, memory kept */
enum status
wire_writer_status(const struct wire_writer *w); /* ST_TOO_BIG: over the limit; ST_NOMEM */
struct slice wire_writer_bytes(const struct wire_writer *w); /* until w next changes */

void wire_put_map(struct wire_writer *w, uint32_t pairs);
void wire_put_array(struct wire_writer *w, uint32_t items);
void wire_put_u64(struct wire_writer *w, uint64_t value);
void wire_put_i64(struct wire_writer *w, int64_t value);
void wire_put_f64(struct wire_writer *w, double value);
void wire_put_bool(struct wire_writer *w, bool value);
void wire_put_str(struct wire_writer *w, const char *text); /* NULL as ""; repaired to UTF-8 */
void wire_put_bin(struct wire_writer *w, const void *bytes, size_t length);

/* ---- reading ---- */

struct wire_reader {
    const uint8_t *next, *end;
    enum status status;
};

void wire_reader_init(struct wire_reader *r, struct slice input);
enum status wire_reader_status(const struct wire_reader *r);
void wire_fail(struct wire_reader *r, enum status why); /* first failure wins */
enum status wire_finish(struct wire_reader *r); /* leftovers are ST_INVALID */

uint32_t wire_get_map(struct wire_reader *r, uint32_t max_pairs); /* more: ST_TOO_BIG */
uint32_t wire_get_array(struct wire_reader *r, uint32_t max_items);
uint64_t wire_get_u64(struct wire_reader *r);
uint32_t wire_get_u32(struct wire_reader *r); /* ST_INVALID above 2^32-1 */
int64_t wire_get_i64(struct wire_reader *r);
double wire_get_f64(struct wire_reader *r); /* finite only */
bool wire_get_bool(struct wire_reader *r);
struct slice wire_get_str(struct wire_reader *r, uint32_t max_bytes); /* valid UTF-8, no NUL */
struct slice wire_get_bin(struct wire_reader *r, uint32_t max_bytes);
void wire_get_bytes(struct wire_reader *r, void *out,
                    uint32_t length); /* a bin of exactly `length` */
char *wire_dup_str(struct wire_reader *r, uint32_t max_bytes); /* malloc'd; NULL after failure */
void wire_skip(struct wire_reader *r); /* one value of any type, at most WIRE_DEPTH_MAX deep */

struct slice wire_take(struct wire_reader *r, size_t length); /* that many raw bytes */

/* Reads a map's next key; keys start at 1 and ascend, which is how doubles are refused. Use:
 *   uint64_t key = 0;
 *   for (uint32_t n = wire_get_map(r, MAX); n > 0 && wire_key(r, &key); n--)
 *       switch (key) { ... default: wire_skip(r); } */
bool wire_key(struct wire_reader *r, uint64_t *key);

/* ---- varint columns inside a bin ---- */

struct column { /* a growing run of LEB128 varints */
    uint8_t *bytes;
    size_t length, capacity;
    bool failed; /* out of memory; sticky */
};

void column_put(struct column *c, uint64_t value);
void column_put_signed(struct column *c, int64_t value); /* zigzag */
void column_put_bytes(struct column *c, const void *bytes, size_t length); /* as they are */
void column_deinit(struct column *c);
void wire_put_column(struct wire_writer *w, const struct column *c);

/* Reads from a bin's slice as from its own reader: truncated or over-long varints fail it. */
uint64_t column_get(struct wire_reader *r);
int64_t column_get_signed(struct wire_reader *r);

#endif
