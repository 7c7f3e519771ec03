/* The store's three kinds of thread at once: the loop submits, the writer commits, views on other
 * threads read. Worth most in preset tsan. */
#include "tests/unit/store/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { CHUNKS = 600, READERS = 3, TEXT_BYTES = 32 };

/* What chunk `sequence` is about: a text that only it has. */
static void text_of(uint64_t sequence, char text[TEXT_BYTES])
{
    (void)snprintf(text, TEXT_BYTES, "function_%llu", (unsigned long long)sequence);
}

struct named_chunk {
    struct store_write write;
    struct chunk_info info;
    enum status status;
    bool done;
};

/* The stored form is the id of the chunk's text. */
static enum status apply_named(struct store_write *w, struct store_txn *t)
{
    struct named_chunk *c = (struct named_chunk *)w;
    char text[TEXT_BYTES];
    uint32_t id;
    enum status st;

    text_of(c->info.sequence, text);
    st = store_txn_string(t, text, &id);
    if (st != ST_OK)
        return st;
    return store_txn_chunk(t, &c->info, (struct slice){(const uint8_t *)&id, sizeof(id)});
}

static void named_done(struct store_write *w, enum status st)
{
    struct named_chunk *c = (struct named_chunk *)w;

    c->status = st;
    c->done = true;
}

struct reader {
    pthread_t thread;
    struct fixture *fixture;
    atomic_bool *stop;
    const struct dictionary *dictionary; /* of the view that is open */
    uint64_t chunks; /* in it */
    uint64_t views, wrong;
};

static enum status check_chunk(void *arg, const struct ledger_row *row, struct slice stored)
{
    struct reader *r = arg;
    char text[TEXT_BYTES];
    uint32_t id;

    memcpy(&id, stored.bytes, sizeof(id));
    text_of(row->sequence, text);
    r->wrong += strcmp(dictionary_string(r->dictionary, id), text) != 0;
    r->chunks++;
    return ST_OK;
}

/* Twice over the same view: whatever commits meanwhile, it must say the same. */
static void read_once(struct reader *r)
{
    const struct wall from = {0}, to = {UINT64_MAX};
    struct store_view *v;
    uint64_t first;

    if (store_view_open(r->fixture->store, &v) != ST_OK) {
        r->wrong++;
        return;
    }
    r->dictionary = store_view_dictionary(v);
    r->chunks = 0;
    r->wrong += store_view_chunks(v, from, to, check_chunk, r) != ST_OK;
    first = r->chunks;
    r->chunks = 0;
    r->wrong += store_view_chunks(v, from, to, check_chunk, r) != ST_OK;
    r->wrong += r->chunks != first;
    store_view_close(v);
    r->views++;
}

static void *read_on(void *arg)
{
    struct reader *r = arg;

    while (!atomic_load(r->stop))
        read_once(r);
    read_once(r);
    return NULL;
}

static void write_all(struct fixture *f, struct named_chunk *chunks)
{
    for (uint64_t i = 0; i < CHUNKS; i++) {
        chunks[i] = (struct named_chunk){
            .write = {.apply = apply_named, .done = named_done, .bytes = 64},
            /* over three days, so that files appear while they are read */
            .info = test_info(test_id(1), i + 1, NOON + i * (3 * DAY_NS / CHUNKS)),
        };
        store_submit(f->store, &chunks[i].write);
        if (i % 8 == 7)
            while (!chunks[i - 7].done)
                fixture_wait(f);
    }
    for (uint64_t i = 0; i < CHUNKS; i++) {
        while (!chunks[i].done)
            fixture_wait(f);
        assert_ok(chunks[i].status);
    }
}

static void views_on_other_threads_see_whole_batches_and_every_name(void **state)
{
    static struct named_chunk chunks[CHUNKS];
    struct fixture *f = *state;
    struct reader readers[READERS];
    atomic_bool stop = false;

    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){.fixture = f, .stop = &stop};
        assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
    }
    write_all(f, chunks);
    atomic_store(&stop, true);
    for (int i = 0; i < READERS; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_int_equal(readers[i].wrong, 0);
        assert_int_equal(readers[i].chunks, CHUNKS);
        assert_true(readers[i].views > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(views_on_other_threads_see_whole_batches_and_every_name,
                                        fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
