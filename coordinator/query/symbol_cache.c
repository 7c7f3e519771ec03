/* symbol_cache - a list in order of use under one lock. It holds at most some hundreds of tables
 * and a question asks once a binary, so it is searched from the front. */
#include "coordinator/query/symbol_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

/* What tells a table from one that replaced it under the same build id: zstd ends a blob with the
 * checksum of its content. */
struct stamp {
    size_t length;
    uint8_t checksum[4];
};

struct symbol_cache_entry {
    struct build_id id;
    struct stamp stamp;
    struct symtab table;
    size_t bytes;
    uint32_t holders;
    TAILQ_ENTRY(symbol_cache_entry) link;
};

struct symbol_cache {
    pthread_mutex_t lock;
    TAILQ_HEAD(symbol_cache_entries, symbol_cache_entry) entries; /* most recently used first */
    size_t bytes_max;
    struct symbol_cache_counters counters;
};

enum status symbol_cache_new(size_t bytes_max, struct symbol_cache **out)
{
    struct symbol_cache *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return ST_NOMEM;
    if (pthread_mutex_init(&c->lock, NULL) != 0) {
        free(c);
        return ST_NOMEM;
    }
    TAILQ_INIT(&c->entries);
    c->bytes_max = bytes_max;
    *out = c;
    return ST_OK;
}

static void free_entry(struct symbol_cache_entry *e)
{
    if (e == NULL)
        return;
    symtab_deinit(&e->table);
    free(e);
}

static void drop_entry(struct symbol_cache *c, struct symbol_cache_entry *e)
{
    TAILQ_REMOVE(&c->entries, e, link);
    c->counters.bytes -= e->bytes;
    c->counters.tables--;
    free_entry(e);
}

void symbol_cache_free(struct symbol_cache *c)
{
    struct symbol_cache_entry *next;

    if (c == NULL)
        return;
    for (struct symbol_cache_entry *e = TAILQ_FIRST(&c->entries); e != NULL; e = next) {
        next = TAILQ_NEXT(e, link);
        free_entry(e);
    }
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static struct stamp stamp_of(struct slice packed)
{
    struct stamp s = {.length = packed.length};

    if (packed.length >= sizeof(s.checksum))
        memcpy(s.checksum, packed.bytes + packed.length - sizeof(s.checksum), sizeof(s.checksum));
    return s;
}

static bool stamp_equal(const struct stamp *a, const struct stamp *b)
{
    return a->length == b->length && memcmp(a->checksum, b->checksum, sizeof(a->checksum)) == 0;
}

/* Under the lock: the entry, held once more and moved to the front, or NULL. */
static struct symbol_cache_entry *hold_cached(struct symbol_cache *c, const struct build_id *id,
                                              const struct stamp *stamp)
{
    struct symbol_cache_entry *e;

    TAILQ_FOREACH(e, &c->entries, link)
    {
        if (build_id_equal(&e->id, id) && stamp_equal(&e->stamp, stamp))
            break;
    }
    if (e == NULL)
        return NULL;
    TAILQ_REMOVE(&c->entries, e, link);
    TAILQ_INSERT_HEAD(&c->entries, e, link);
    e->holders++;
    return e;
}

static void evict(struct symbol_cache *c)
{
    struct symbol_cache_entry *e = TAILQ_LAST(&c->entries, symbol_cache_entries), *before;

    for (; e != NULL && c->counters.bytes > c->bytes_max; e = before) {
        before = TAILQ_PREV(e, symbol_cache_entries, link);
        if (e->holders > 0)
            continue;
        drop_entry(c, e);
        c->counters.evictions++;
    }
}

static size_t table_bytes(const struct symtab *t)
{
    const struct places *p = &t->places;

    return t->capacity * sizeof(*t->symbols) + t->text_capacity +
           p->span_capacity * sizeof(*p->spans) + p->call_capacity * sizeof(*p->calls) +
           p->text_capacity * sizeof(*p->texts) + p->text_bytes_capacity;
}

static enum status load(struct slice packed, const struct build_id *id, const struct stamp *stamp,
                        struct symbol_cache_entry **out)
{
    struct symbol_cache_entry *e = calloc(1, sizeof(*e));
    enum status st;

    if (e == NULL)
        return ST_NOMEM;
    st = symtab_decode_all(packed, &e->table);
    if (st != ST_OK) {
        free(e);
        return st;
    }
    e->id = *id;
    e->stamp = *stamp;
    e->holders = 1;
    e->bytes = sizeof(*e) + table_bytes(&e->table);
    *out = e;
    return ST_OK;
}

/* Decoding runs outside the lock; of two threads that load the same table the first one's stays. */
static struct symbol_cache_entry *insert(struct symbol_cache *c, struct symbol_cache_entry *fresh)
{
    struct symbol_cache_entry *e;

    pthread_mutex_lock(&c->lock);
    e = hold_cached(c, &fresh->id, &fresh->stamp);
    if (e == NULL) {
        TAILQ_INSERT_HEAD(&c->entries, fresh, link);
        c->counters.bytes += fresh->bytes;
        c->counters.tables++;
        c->counters.loads++;
        evict(c);
    }
    pthread_mutex_unlock(&c->lock);
    if (e == NULL)
        return fresh;
    free_entry(fresh);
    return e;
}

enum status symbol_cache_hold(struct symbol_cache *c, struct store_view *v,
                              const struct build_id *id, struct symbol_cache_entry **out)
{
    struct symbol_cache_entry *e;
    struct slice packed;
    struct stamp stamp;
    enum status st =
        store_view_get(v, STORE_SYMBOLS, (struct slice){id->bytes, id->length}, &packed);

    if (st != ST_OK)
        return st;
    stamp = stamp_of(packed);
    pthread_mutex_lock(&c->lock);
    e = hold_cached(c, id, &stamp);
    c->counters.hits += e != NULL;
    pthread_mutex_unlock(&c->lock);
    if (e == NULL) {
        st = load(packed, id, &stamp, &e);
        if (st != ST_OK)
            return st;
        e = insert(c, e);
    }
    *out = e;
    return ST_OK;
}

void symbol_cache_release(struct symbol_cache *c, struct symbol_cache_entry *e)
{
    if (e == NULL)
        return;
    pthread_mutex_lock(&c->lock);
    e->holders--;
    evict(c);
    pthread_mutex_unlock(&c->lock);
}

const struct symtab *symbol_cache_table(const struct symbol_cache_entry *e)
{
    return &e->table;
}

struct symbol_cache_counters symbol_cache_read_counters(struct symbol_cache *c)
{
    struct symbol_cache_counters counters;

    pthread_mutex_lock(&c->lock);
    counters = c->counters;
    pthread_mutex_unlock(&c->lock);
    return counters;
}
