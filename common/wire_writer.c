/* The writing half of wire: msgpack-c's packer over a buffer with a limit. */
#include "common/wire.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"

enum { FIRST_CAPACITY = 256 }; /* bytes: most messages fit without growing */

struct wire_writer {
    msgpack_packer packer; /* calls append() below */
    uint8_t *bytes;
    size_t length, capacity, limit;
    enum status status; /* sticky */
};

static void fail(struct wire_writer *w, enum status why)
{
    if (w->status == ST_OK)
        w->status = why;
}

static enum status reserve(struct wire_writer *w, size_t more)
{
    size_t capacity = w->capacity > 0 ? w->capacity : FIRST_CAPACITY;
    uint8_t *bytes;

    if (more > w->limit - w->length)
        return ST_TOO_BIG;
    while (capacity < w->length + more)
        capacity *= 2;
    if (capacity == w->capacity)
        return ST_OK;

    bytes = realloc(w->bytes, capacity);
    if (bytes == NULL)
        return ST_NOMEM;
    w->bytes = bytes;
    w->capacity = capacity;
    return ST_OK;
}

/* The packer's output. It calls this several times a value: the stick is what makes that safe. */
static int append(void *data, const char *bytes, size_t length)
{
    struct wire_writer *w = data;

    if (w->status == ST_OK)
        w->status = reserve(w, length);
    if (w->status != ST_OK)
        return -1;
    if (length > 0)
        memcpy(w->bytes + w->length, bytes, length);
    w->length += length;
    return 0;
}

enum status wire_writer_new(size_t limit_bytes, struct wire_writer **out)
{
    struct wire_writer *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return ST_NOMEM;
    w->limit = limit_bytes;
    msgpack_packer_init(&w->packer, w, append);
    *out = w;
    return ST_OK;
}

void wire_writer_free(struct wire_writer *w)
{
    if (w == NULL)
        return;
    free(w->bytes);
    free(w);
}

void wire_writer_reset(struct wire_writer *w)
{
    w->length = 0;
    w->status = ST_OK;
}

enum status wire_writer_status(const struct wire_writer *w)
{
    return w->status;
}

struct slice wire_writer_bytes(const struct wire_writer *w)
{
    if (w->status != ST_OK)
        return (struct slice){0};
    return (struct slice){w->bytes, w->length};
}

/* The packer's results are dropped below: a failure is in w->status, where append() put it. */

void wire_put_map(struct wire_writer *w, uint32_t pairs)
{
    (void)msgpack_pack_map(&w->packer, pairs);
}

void wire_put_array(struct wire_writer *w, uint32_t items)
{
    (void)msgpack_pack_array(&w->packer, items);
}

void wire_put_u64(struct wire_writer *w, uint64_t value)
{
    (void)msgpack_pack_uint64(&w->packer, value);
}

void wire_put_i64(struct wire_writer *w, int64_t value)
{
    (void)msgpack_pack_int64(&w->packer, value);
}

void wire_put_f64(struct wire_writer *w, double value)
{
    (void)msgpack_pack_double(&w->packer, value);
}

void wire_put_bool(struct wire_writer *w, bool value)
{
    if (value)
        (void)msgpack_pack_true(&w->packer);
    else
        (void)msgpack_pack_false(&w->packer);
}

static void put_text(struct wire_writer *w, const char *text, size_t length)
{
    (void)msgpack_pack_str(&w->packer, length);
    (void)msgpack_pack_str_body(&w->packer, text, length);
}

/* Names of files and the like may be any bytes; a reader would refuse the whole message. */
static void put_repaired(struct wire_writer *w, const char *bytes, size_t length)
{
    char *text = strdup(bytes);

    if (text == NULL) {
        fail(w, ST_NOMEM);
        return;
    }
    utf8_repair(text, length);
    put_text(w, text, length);
    free(text);
}

void wire_put_str(struct wire_writer *w, const char *text)
{
    const char *bytes = text != NULL ? text : "";
    size_t length = strlen(bytes);

    if (utf8_valid(bytes, length))
        put_text(w, bytes, length);
    else
        put_repaired(w, bytes, length);
}

void wire_put_bin(struct wire_writer *w, const void *bytes, size_t length)
{
    if (length > UINT32_MAX) /* what a bin can hold; msgpack-c would cut it silently */
        fail(w, ST_TOO_BIG);
    (void)msgpack_pack_bin(&w->packer, length);
    (void)msgpack_pack_bin_body(&w->packer, bytes, length);
}

void wire_put_column(struct wire_writer *w, const struct column *c)
{
    if (c->failed)
        fail(w, ST_NOMEM);
    wire_put_bin(w, c->bytes, c->length);
}
