#include "tests/unit/store/ingest_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/chunk_maker.h"

enum { RECORD_MAX = 1 << 16 };
#define MAP_BYTES (UINT64_C(1) << 30)

/* ---- the world ---- */

static void on_wake(void *arg)
{
    (void)sem_post(&((struct ingest_world *)arg)->woken);
}

static void close_world(struct ingest_world *w)
{
    store_close(w->store);
    ingest_free(w->ingest);
    w->store = NULL;
    w->ingest = NULL;
}

void world_reopen_with(struct ingest_world *w, uint64_t map_bytes, struct dictionary_limits limits)
{
    const struct store_options options = {.directory = w->directory,
                                          .map_bytes = map_bytes,
                                          .limits = limits,
                                          .wake = on_wake,
                                          .arg = w};
    char why[STORE_WHY_MAX] = "";

    close_world(w);
    if (store_open(&options, &w->store, why) != ST_OK)
        fail_msg("%s", why);
    assert_int_equal(ingest_new(w->store, NULL, &w->ingest), ST_OK);
}

void world_reopen(struct ingest_world *w)
{
    world_reopen_with(w, MAP_BYTES, (struct dictionary_limits){0});
}

static void put_profiler(struct ingest_world *w)
{
    const struct profiler_record r = {.id = w->profiler,
                                      .host = WORLD_HOST,
                                      .incarnation = WORLD_INCARNATION,
                                      .event = EVENT_CPU,
                                      .assigned = {WORLD_ASSIGNED}};
    struct wire_writer *bytes;

    assert_int_equal(wire_writer_new(RECORD_MAX, &bytes), ST_OK);
    assert_int_equal(profiler_record_encode(&r, bytes), ST_OK);
    world_put(w, STORE_PROFILERS, (struct slice){w->profiler.bytes, ID128_BYTES},
              wire_writer_bytes(bytes));
    wire_writer_free(bytes);
}

int world_set_up(void **state)
{
    struct ingest_world *w = calloc(1, sizeof(*w));

    strcpy(w->directory, "/tmp/fleetprof-ingest-XXXXXX");
    if (mkdtemp(w->directory) == NULL || sem_init(&w->woken, 0, 0) != 0)
        return -1;
    w->rng = rng_new();
    w->profiler = id128_random();
    world_reopen(w);
    put_profiler(w);
    *state = w;
    return 0;
}

int world_tear_down(void **state)
{
    struct ingest_world *w = *state;
    char command[96];

    close_world(w);
    (void)snprintf(command, sizeof(command), "rm -r '%s'", w->directory);
    assert_int_equal(system(command), 0); /* NOLINT: our own directory */
    (void)sem_destroy(&w->woken);
    free(w);
    return 0;
}

void world_wait(struct ingest_world *w)
{
    (void)sem_wait(&w->woken);
    store_complete(w->store);
}

/* ---- records ---- */

struct put {
    struct store_write write;
    enum store_table table;
    struct slice key, value;
    bool done;
    enum status status;
};

static enum status apply_put(struct store_write *write, struct store_txn *t)
{
    struct put *p = (struct put *)write;

    return store_txn_put(t, p->table, p->key, p->value);
}

static void on_put(struct store_write *write, enum status st)
{
    struct put *p = (struct put *)write;

    p->status = st;
    p->done = true;
}

void world_put(struct ingest_world *w, enum store_table table, struct slice key, struct slice value)
{
    struct put p = {
        .write = {.apply = apply_put, .done = on_put}, .table = table, .key = key, .value = value};

    store_submit(w->store, &p.write);
    while (!p.done)
        world_wait(w);
    assert_int_equal(p.status, ST_OK);
}

/* ---- chunks ---- */

struct chunk world_chunk(struct ingest_world *w, uint64_t sequence)
{
    struct rng *rng = &w->rng;
    const struct chunk_shape shape = {.binaries = 1 + rng_below(rng, WORLD_BINARIES_MAX),
                                      .frames = 1 + rng_below(rng, 400),
                                      .stacks = 1 + rng_below(rng, 60),
                                      .depth = 1 + rng_below(rng, 40),
                                      .processes = 1 + rng_below(rng, 9),
                                      .threads = 1 + rng_below(rng, 30),
                                      .samples = rng_below(rng, 1500)};
    struct chunk c = chunk_make(shape, rng);

    c.info.profiler = w->profiler;
    c.info.incarnation = WORLD_INCARNATION;
    c.info.sequence = sequence;
    c.info.wall_start.ns = WORLD_ASSIGNED + sequence * NS_PER_S;
    return c;
}

struct waiting {
    struct outcome outcome;
    bool done;
};

static void on_done(void *arg, const struct ingest_result *result)
{
    struct waiting *waiting = arg;
    struct outcome *o = &waiting->outcome;

    assert_true(result->new_binary_count <= WORLD_BINARIES_MAX);
    assert_false(waiting->done);
    o->result = *result;
    for (uint32_t i = 0; i < result->new_binary_count; i++)
        o->new_binaries[i] = result->new_binaries[i];
    waiting->done = true;
}

struct outcome world_offer_bytes(struct ingest_world *w, const char *host, struct slice bytes)
{
    struct waiting waiting = {.done = false};

    assert_int_equal(
        ingest_chunk(w->ingest, host, bytes, (struct wall){WORLD_NOW}, on_done, &waiting), ST_OK);
    while (!waiting.done)
        world_wait(w);
    waiting.outcome.result.new_binaries = NULL; /* it was lent; a caller has its copy */
    return waiting.outcome;
}

struct outcome world_offer(struct ingest_world *w, const char *host, const struct chunk *c)
{
    struct outcome o;
    struct blob packed;

    assert_int_equal(chunk_encode(c, CHUNK_WIRE, &packed), ST_OK);
    o = world_offer_bytes(w, host, blob_slice(&packed));
    blob_deinit(&packed);
    return o;
}
