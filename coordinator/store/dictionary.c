/* A kind of content is a pool (by id), an index (by content) and a table in the catalog. Keys are
 * 4-byte big-endian ids, appended in order; values are the packed forms below. */
#include "coordinator/store/dictionary.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/store/bytes.h"
#include "coordinator/store/dictionary_edit.h"
#include "coordinator/store/id_index.h"
#include "coordinator/store/pool.h"

enum {
    BINARY_FIXED_BYTES = 5, /* path, id length; the id follows */
    FRAME_PACKED_BYTES = 17, /* kind, binary, name, offset */
    NODE_PACKED_BYTES = 8, /* parent, frame */
    PACKED_MAX = BINARY_FIXED_BYTES + BUILD_ID_BYTES,
};

struct kind {
    struct pool pool;
    struct id_index index;
    lmdb_table table;
};

struct dictionary {
    struct kind kinds[DICTIONARY_KINDS];
};

/* ---- reading ---- */

static const void *find(const struct dictionary *d, enum dictionary_kind kind, uint32_t id)
{
    const struct pool *p = &d->kinds[kind].pool;

    if (id >= atomic_load_explicit(&p->published, memory_order_acquire))
        return NULL;
    return pool_at(p, id);
}

const char *dictionary_string(const struct dictionary *d, uint32_t id)
{
    char *const *text = find(d, DICTIONARY_STRINGS, id);

    return text == NULL ? "" : *text;
}

const struct chunk_binary *dictionary_binary(const struct dictionary *d, uint32_t id)
{
    return find(d, DICTIONARY_BINARIES, id);
}

const struct chunk_frame *dictionary_frame(const struct dictionary *d, uint32_t id)
{
    return find(d, DICTIONARY_FRAMES, id);
}

struct chunk_node dictionary_node(const struct dictionary *d, uint32_t id)
{
    const struct chunk_node *node = find(d, DICTIONARY_NODES, id);

    return node == NULL ? (struct chunk_node){CHUNK_NO_PARENT, CHUNK_NO_PARENT} : *node;
}

uint32_t dictionary_node_count(const struct dictionary *d)
{
    return dictionary_count(d, DICTIONARY_NODES);
}

uint32_t dictionary_count(const struct dictionary *d, enum dictionary_kind kind)
{
    return atomic_load_explicit(&d->kinds[kind].pool.published, memory_order_acquire);
}

/* ---- packed forms: what is hashed, compared and stored ---- */

static size_t pack_binary(const struct chunk_binary *b, uint8_t *out)
{
    put_be(out, b->path, 4);
    out[4] = b->id.length;
    memcpy(out + BINARY_FIXED_BYTES, b->id.bytes, b->id.length);
    return BINARY_FIXED_BYTES + (size_t)b->id.length;
}

static enum status unpack_binary(struct slice in, struct chunk_binary *out)
{
    if (in.length < BINARY_FIXED_BYTES || in.bytes[4] > BUILD_ID_BYTES ||
        in.length != BINARY_FIXED_BYTES + (size_t)in.bytes[4])
        return ST_INVALID;
    out->path = (uint32_t)get_be(in.bytes, 4);
    out->id.length = in.bytes[4];
    memcpy(out->id.bytes, in.bytes + BINARY_FIXED_BYTES, out->id.length);
    return ST_OK;
}

static size_t pack_frame(const struct chunk_frame *f, uint8_t *out)
{
    out[0] = (uint8_t)f->kind;
    put_be(out + 1, f->binary, 4);
    put_be(out + 5, f->name, 4);
    put_be(out + 9, f->offset, 8);
    return FRAME_PACKED_BYTES;
}

static enum status unpack_frame(struct slice in, struct chunk_frame *out)
{
    if (in.length != FRAME_PACKED_BYTES || in.bytes[0] < FRAME_NATIVE || in.bytes[0] > FRAME_MARK)
        return ST_INVALID;
    out->kind = (enum frame_kind)in.bytes[0];
    out->binary = (uint32_t)get_be(in.bytes + 1, 4);
    out->name = (uint32_t)get_be(in.bytes + 5, 4);
    out->offset = get_be(in.bytes + 9, 8);
    return ST_OK;
}

static size_t pack_node(const struct chunk_node *n, uint8_t *out)
{
    put_be(out, n->parent, 4);
    put_be(out + 4, n->frame, 4);
    return NODE_PACKED_BYTES;
}

static enum status unpack_node(struct slice in, struct chunk_node *out)
{
    if (in.length != NODE_PACKED_BYTES)
        return ST_INVALID;
    out->parent = (uint32_t)get_be(in.bytes, 4);
    out->frame = (uint32_t)get_be(in.bytes + 4, 4);
    return ST_OK;
}

static enum status unpack_string(struct slice in, char **out)
{
    char *text = malloc(in.length + 1);

    if (text == NULL)
        return ST_NOMEM;
    memcpy(text, in.bytes, in.length);
    text[in.length] = '\0';
    *out = text;
    return ST_OK;
}

/* The item's packed form; of a string, the text itself. */
static struct slice packed(enum dictionary_kind kind, const void *item, uint8_t buffer[PACKED_MAX])
{
    switch (kind) {
    case DICTIONARY_STRINGS: {
        const char *text = *(char *const *)item;

        return (struct slice){(const uint8_t *)text, strlen(text)};
    }
    case DICTIONARY_BINARIES:
        return (struct slice){buffer, pack_binary(item, buffer)};
    case DICTIONARY_FRAMES:
        return (struct slice){buffer, pack_frame(item, buffer)};
    case DICTIONARY_NODES:
        return (struct slice){buffer, pack_node(item, buffer)};
    case DICTIONARY_KINDS:
        break;
    }
    return (struct slice){NULL, 0};
}

static enum status unpack(enum dictionary_kind kind, struct slice in, void *item)
{
    switch (kind) {
    case DICTIONARY_STRINGS:
        return unpack_string(in, item);
    case DICTIONARY_BINARIES:
        return unpack_binary(in, item);
    case DICTIONARY_FRAMES:
        return unpack_frame(in, item);
    case DICTIONARY_NODES:
        return unpack_node(in, item);
    case DICTIONARY_KINDS:
        break;
    }
    return ST_INVALID;
}

/* ---- writing ---- */

static uint32_t at_most(uint32_t asked, uint32_t max)
{
    return asked > 0 && asked < max ? asked : max;
}

enum status dictionary_new(const lmdb_table tables[DICTIONARY_KINDS],
                           const struct dictionary_limits *limits, struct dictionary **out)
{
    const struct {
        size_t item_bytes;
        uint32_t limit;
    } shapes[DICTIONARY_KINDS] = {
        [DICTIONARY_STRINGS] = {sizeof(char *), at_most(limits->strings, DICTIONARY_STRINGS_MAX)},
        [DICTIONARY_BINARIES] = {sizeof(struct chunk_binary),
                                 at_most(limits->binaries, DICTIONARY_BINARIES_MAX)},
        [DICTIONARY_FRAMES] = {sizeof(struct chunk_frame),
                               at_most(limits->frames, DICTIONARY_FRAMES_MAX)},
        [DICTIONARY_NODES] = {sizeof(struct chunk_node),
                              at_most(limits->nodes, DICTIONARY_NODES_MAX)},
    };
    struct dictionary *d = calloc(1, sizeof(*d));

    if (d == NULL)
        return ST_NOMEM;
    for (int k = 0; k < DICTIONARY_KINDS; k++) {
        pool_init(&d->kinds[k].pool, shapes[k].item_bytes, shapes[k].limit);
        id_index_init(&d->kinds[k].index);
        d->kinds[k].table = tables[k];
    }
    *out = d;
    return ST_OK;
}

static void truncate_kind(struct dictionary *d, enum dictionary_kind kind, uint32_t count)
{
    struct kind *k = &d->kinds[kind];

    id_index_truncate(&k->index, count);
    for (uint32_t id = count; kind == DICTIONARY_STRINGS && id < k->pool.count; id++)
        free(*(char **)pool_at(&k->pool, id));
    pool_truncate(&k->pool, count);
}

void dictionary_free(struct dictionary *d)
{
    if (d == NULL)
        return;
    truncate_kind(d, DICTIONARY_STRINGS, 0);
    for (int k = 0; k < DICTIONARY_KINDS; k++) {
        pool_deinit(&d->kinds[k].pool);
        id_index_deinit(&d->kinds[k].index);
    }
    free(d);
}

struct lookup {
    const struct dictionary *dictionary;
    enum dictionary_kind kind;
    struct slice content;
};

static bool is_content(const void *arg, uint32_t id)
{
    const struct lookup *l = arg;
    uint8_t buffer[PACKED_MAX];
    struct slice other = packed(l->kind, pool_at(&l->dictionary->kinds[l->kind].pool, id), buffer);

    return other.length == l->content.length && other.bytes != NULL &&
           memcmp(other.bytes, l->content.bytes, other.length) == 0;
}

static bool has_or_none(const struct dictionary *d, enum dictionary_kind kind, uint32_t id)
{
    return id == CHUNK_NO_PARENT || id < d->kinds[kind].pool.count;
}

/* Whether all that an item refers to is there: a tree cannot have a loop or a loose end then, not
 * even one that is read from a damaged disk. */
static bool is_rooted(const struct dictionary *d, enum dictionary_kind kind, const void *item)
{
    const struct chunk_binary *binary = item;
    const struct chunk_frame *frame = item;
    const struct chunk_node *node = item;

    switch (kind) {
    case DICTIONARY_BINARIES:
        return has_or_none(d, DICTIONARY_STRINGS, binary->path);
    case DICTIONARY_FRAMES:
        return has_or_none(d, DICTIONARY_BINARIES, frame->binary) &&
               has_or_none(d, DICTIONARY_STRINGS, frame->name);
    case DICTIONARY_NODES:
        /* The node itself is in its pool already, and not its own parent. */
        return (node->parent == CHUNK_NO_PARENT ||
                node->parent < d->kinds[DICTIONARY_NODES].pool.count - 1) &&
               node->frame < d->kinds[DICTIONARY_FRAMES].pool.count;
    case DICTIONARY_STRINGS:
    case DICTIONARY_KINDS:
        break;
    }
    return true;
}

/* Puts a packed item in pool and index, as the next id. ST_INVALID: it refers to what is not there,
 * or is none. */
static enum status append(struct dictionary *d, enum dictionary_kind kind, struct slice content,
                          uint64_t hash, uint32_t *out)
{
    struct kind *k = &d->kinds[kind];
    uint32_t id = k->pool.count;
    void *item;
    enum status st = pool_append(&k->pool, &item);

    if (st != ST_OK)
        return st;
    st = unpack(kind, content, item);
    if (st == ST_OK && !is_rooted(d, kind, item))
        st = ST_INVALID;
    if (st != ST_OK) {
        pool_truncate(&k->pool, id);
        return st;
    }
    st = id_index_add(&k->index, hash, id);
    if (st != ST_OK) {
        truncate_kind(d, kind, id);
        return st;
    }
    *out = id;
    return ST_OK;
}

static enum status add(struct dictionary *d, struct lmdb_txn *t, enum dictionary_kind kind,
                       const void *item, uint32_t *out)
{
    struct kind *k = &d->kinds[kind];
    uint8_t buffer[PACKED_MAX], key[4];
    struct lookup l = {d, kind, packed(kind, item, buffer)};
    uint64_t hash = id_index_hash(&k->index, l.content.bytes, l.content.length);
    uint32_t id;
    enum status st;

    if (id_index_find(&k->index, hash, is_content, &l, out))
        return ST_OK;
    st = append(d, kind, l.content, hash, &id);
    if (st != ST_OK)
        return st;
    put_be(key, id, sizeof(key));
    st = lmdb_put(t, k->table, (struct slice){key, sizeof(key)}, l.content, LMDB_APPEND);
    if (st != ST_OK) {
        truncate_kind(d, kind, id);
        return st == ST_EXISTS ? ST_INVALID : st;
    }
    *out = id;
    return ST_OK;
}

enum status dictionary_add_string(struct dictionary *d, struct lmdb_txn *t, const char *text,
                                  uint32_t *out)
{
    return add(d, t, DICTIONARY_STRINGS, &text, out);
}

enum status dictionary_add_binary(struct dictionary *d, struct lmdb_txn *t,
                                  const struct chunk_binary *binary, uint32_t *out)
{
    return add(d, t, DICTIONARY_BINARIES, binary, out);
}

enum status dictionary_add_frame(struct dictionary *d, struct lmdb_txn *t,
                                 const struct chunk_frame *frame, uint32_t *out)
{
    return add(d, t, DICTIONARY_FRAMES, frame, out);
}

enum status dictionary_add_node(struct dictionary *d, struct lmdb_txn *t, struct chunk_node node,
                                uint32_t *out)
{
    return add(d, t, DICTIONARY_NODES, &node, out);
}

struct loading {
    struct dictionary *dictionary;
    enum dictionary_kind kind;
};

static enum status load_entry(void *arg, struct slice key, struct slice value)
{
    struct loading *l = arg;
    const struct kind *k = &l->dictionary->kinds[l->kind];
    uint32_t id;

    if (key.length != 4 || get_be(key.bytes, 4) != k->pool.count)
        return ST_INVALID;
    return append(l->dictionary, l->kind, value,
                  id_index_hash(&k->index, value.bytes, value.length), &id);
}

enum status dictionary_load(struct dictionary *d, struct lmdb_txn *t)
{
    for (int k = 0; k < DICTIONARY_KINDS; k++) {
        struct loading l = {d, (enum dictionary_kind)k};
        enum status st = lmdb_each(t, d->kinds[k].table, (struct slice){NULL, 0}, load_entry, &l);

        if (st != ST_OK)
            return st;
    }
    dictionary_publish(d);
    return ST_OK;
}

void dictionary_publish(struct dictionary *d)
{
    for (int k = 0; k < DICTIONARY_KINDS; k++)
        pool_publish(&d->kinds[k].pool);
}

void dictionary_rollback(struct dictionary *d)
{
    for (int k = 0; k < DICTIONARY_KINDS; k++) {
        enum dictionary_kind kind = (enum dictionary_kind)k;

        if (dictionary_count(d, kind) < d->kinds[k].pool.count)
            truncate_kind(d, kind, dictionary_count(d, kind));
    }
}
