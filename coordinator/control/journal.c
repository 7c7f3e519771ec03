/* journal - see journal.h. */
#include "coordinator/control/journal.h"

#include <stdlib.h>
#include <string.h>

enum entry_kind { ENTRY_PUT, ENTRY_DELETE, ENTRY_WITHDRAWN };

struct entry {
    enum entry_kind kind;
    enum store_table table;
    uint8_t key[STORE_KEY_MAX];
    size_t key_length;
    uint8_t *value;
    size_t value_length;
};

struct batch {
    struct store_write write; /* first: the store hands it back */
    struct journal *journal;
    struct entry *entries;
    size_t count, capacity;
    uint64_t number;
};

enum flight { FLIGHT_NONE, FLIGHT_WRITING, FLIGHT_FAILED };

struct journal {
    struct store *store;
    void (*written)(void *arg, uint64_t batch, enum status st);
    void *arg;
    struct batch *open; /* takes what is put */
    struct batch *away; /* empty unless it is in flight or has failed */
    enum flight flight;
};

static void batch_clear(struct batch *b)
{
    for (size_t i = 0; i < b->count; i++)
        free(b->entries[i].value);
    b->count = 0;
    b->write.bytes = 0;
}

static void batch_free(struct batch *b)
{
    if (b == NULL)
        return;
    batch_clear(b);
    free(b->entries);
    free(b);
}

/* On the writer thread; may run again after a failed commit. */
static enum status apply(struct store_write *w, struct store_txn *t)
{
    const struct batch *b = (const struct batch *)w;
    enum status st = ST_OK;

    for (size_t i = 0; i < b->count && st == ST_OK; i++) {
        const struct entry *e = &b->entries[i];
        struct slice key = {e->key, e->key_length};

        if (e->kind == ENTRY_PUT)
            st = store_txn_put(t, e->table, key, (struct slice){e->value, e->value_length});
        else if (e->kind == ENTRY_DELETE)
            st = store_txn_delete(t, e->table, key);
        if (e->kind == ENTRY_DELETE && st == ST_NOT_FOUND)
            st = ST_OK;
    }
    return st;
}

static void done(struct store_write *w, enum status st)
{
    struct batch *b = (struct batch *)w;
    struct journal *j = b->journal;

    j->flight = st == ST_OK ? FLIGHT_NONE : FLIGHT_FAILED;
    if (st == ST_OK)
        batch_clear(b);
    j->written(j->arg, b->number, st);
}

static struct batch *batch_new(struct journal *j, uint64_t number)
{
    struct batch *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return NULL;
    b->write.apply = apply;
    b->write.done = done;
    b->journal = j;
    b->number = number;
    return b;
}

enum status journal_new(struct store *store,
                        void (*written)(void *arg, uint64_t batch, enum status st), void *arg,
                        struct journal **out)
{
    struct journal *j = calloc(1, sizeof(*j));

    if (j == NULL)
        return ST_NOMEM;
    j->store = store;
    j->written = written;
    j->arg = arg;
    j->open = batch_new(j, 1);
    j->away = batch_new(j, 0);
    if (j->open == NULL || j->away == NULL) {
        journal_free(j);
        return ST_NOMEM;
    }
    *out = j;
    return ST_OK;
}

void journal_free(struct journal *j)
{
    if (j == NULL)
        return;
    batch_free(j->open);
    batch_free(j->away);
    free(j);
}

static enum status append(struct batch *b, struct entry *e)
{
    if (b->count == b->capacity) {
        size_t capacity = b->capacity > 0 ? 2 * b->capacity : 16;
        struct entry *entries = realloc(b->entries, capacity * sizeof(*entries));

        if (entries == NULL)
            return ST_NOMEM;
        b->entries = entries;
        b->capacity = capacity;
    }
    b->entries[b->count++] = *e;
    b->write.bytes += e->key_length + e->value_length;
    return ST_OK;
}

static enum status put(struct journal *j, enum entry_kind kind, enum store_table table,
                       struct slice key, struct slice value)
{
    struct entry e = {.kind = kind, .table = table, .key_length = key.length};
    enum status st;

    if (key.length > sizeof(e.key))
        return ST_TOO_BIG;
    memcpy(e.key, key.bytes, key.length);
    if (value.length > 0) {
        e.value = malloc(value.length);
        if (e.value == NULL)
            return ST_NOMEM;
        memcpy(e.value, value.bytes, value.length);
        e.value_length = value.length;
    }
    st = append(j->open, &e);
    if (st != ST_OK)
        free(e.value);
    return st;
}

enum status journal_put(struct journal *j, enum store_table table, struct slice key,
                        struct slice value)
{
    return put(j, ENTRY_PUT, table, key, value);
}

enum status journal_delete(struct journal *j, enum store_table table, struct slice key)
{
    return put(j, ENTRY_DELETE, table, key, (struct slice){0});
}

static void withdraw(struct batch *b, enum store_table table, struct slice key)
{
    for (size_t i = 0; i < b->count; i++) {
        struct entry *e = &b->entries[i];

        if (e->table == table && e->key_length == key.length &&
            memcmp(e->key, key.bytes, key.length) == 0)
            e->kind = ENTRY_WITHDRAWN;
    }
}

void journal_withdraw(struct journal *j, enum store_table table, struct slice key)
{
    withdraw(j->open, table, key);
    if (j->flight == FLIGHT_FAILED)
        withdraw(j->away, table, key);
}

uint64_t journal_open_batch(const struct journal *j)
{
    return j->open->number;
}

bool journal_is_busy(const struct journal *j)
{
    return j->flight != FLIGHT_NONE;
}

void journal_submit(struct journal *j)
{
    struct batch *b = j->open;

    if (j->flight != FLIGHT_NONE || b->count == 0)
        return;
    j->open = j->away;
    j->open->number = b->number + 1;
    j->away = b;
    j->flight = FLIGHT_WRITING;
    store_submit(j->store, &b->write);
}

void journal_retry(struct journal *j)
{
    if (j->flight != FLIGHT_FAILED)
        return;
    j->flight = FLIGHT_WRITING;
    store_submit(j->store, &j->away->write);
}
