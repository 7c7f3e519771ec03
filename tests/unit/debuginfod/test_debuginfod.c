/* The debuginfod client with a server that is a function and a clock that is held: whom it asks for
 * and when, and what becomes of each answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"
#include "coordinator/symbols/debuginfod.h"
#include "tests/unit/store/ingest_world.h"

enum { SERVERS = 2 };

/* What the servers say, and what they were asked: a fetch has no other way to us. */
static enum status answers[SERVERS];
static unsigned asked[SERVERS];

static char first[] = "http://one.example.org", second[] = "http://two.example.org";
static char *urls[SERVERS] = {first, second};

struct client_world {
    struct ingest_world *base;
    struct config_list servers;
    bool agents_will_send;
    struct debuginfod *client;
    uint64_t second;
};

static enum status fetch(const struct debuginfod_order *order, struct blob *out)
{
    unsigned server = order->url == urls[0] ? 0 : 1;
    struct symtab t = {.sources = SYMTAB_FROM_SYMTAB};
    enum status st = answers[server];

    asked[server]++;
    if (st != ST_OK)
        return st;
    st = symtab_add(&t, 0x1000, 0x100, "main");
    symtab_sort(&t);
    if (st == ST_OK)
        st = symtab_encode(&t, out);
    symtab_deinit(&t);
    return st;
}

static bool expected(void *arg, const struct build_id *id)
{
    const struct client_world *w = arg;

    (void)id;
    return w->agents_will_send;
}

static void submit(void *arg, struct work *work)
{
    (void)arg;
    work->run(work);
    work->done(work);
}

/* One binary without symbols is in the store. */
static void store_binary(struct client_world *w)
{
    struct chunk c = world_chunk(w->base, 1);
    struct chunk_dictionary *d = &c.dictionary;

    d->binaries = realloc(d->binaries, (d->binary_count + 1) * sizeof(*d->binaries));
    for (uint32_t i = 0; i < d->binary_count; i++)
        d->binaries[i].id = (struct build_id){0};
    d->binaries[d->binary_count++] =
        (struct chunk_binary){(struct build_id){.length = 20, .bytes = {1}}, CHUNK_NO_PARENT};
    assert_int_equal(world_offer(w->base, WORLD_HOST, &c).result.status, ST_OK);
    chunk_deinit(&c);
}

static int set_up(void **state)
{
    struct client_world *w = calloc(1, sizeof(*w));
    void *base;

    if (w == NULL || world_set_up(&base) != 0)
        return -1;
    w->base = base;
    w->servers = (struct config_list){urls, SERVERS};
    store_binary(w);
    const struct debuginfod_options options = {.ingest = w->base->ingest,
                                               .workers = {.submit = submit},
                                               .urls = &w->servers,
                                               .directory = w->base->directory,
                                               .expected = expected,
                                               .arg = w,
                                               .fetch = fetch};
    assert_int_equal(debuginfod_new(&options, &w->client), ST_OK);
    memset(asked, 0, sizeof(asked));
    answers[0] = answers[1] = ST_NOT_FOUND;
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct client_world *w = *state;
    void *base = w->base;

    debuginfod_free(w->client);
    free(w);
    return world_tear_down(&base);
}

static void pass(struct client_world *w, uint64_t seconds)
{
    for (uint64_t i = 0; i < seconds; i++, w->second++)
        debuginfod_tick(w->client, (struct mono){(1000 + w->second) * NS_PER_S},
                        (struct wall){WORLD_NOW});
}

struct wanted {
    const char *name;
    uint64_t value;
};

static void note(void *to, const char *name, uint64_t value)
{
    struct wanted *w = to;

    if (strcmp(name, w->name) == 0)
        w->value = value;
}

static uint64_t counter(struct client_world *w, const char *name)
{
    struct wanted wanted = {name, UINT64_MAX};

    debuginfod_counters(w->client, note, &wanted);
    return wanted.value;
}

static void without_servers_nobody_is_asked(void **state)
{
    struct client_world *w = *state;

    w->servers.count = 0;
    pass(w, 60);
    assert_int_equal(counter(w, "debuginfod_asked"), 0);
    assert_int_equal(asked[0] + asked[1], 0);
}

static void the_agents_have_their_chance_first(void **state)
{
    struct client_world *w = *state;

    w->agents_will_send = true;
    pass(w, 60);
    assert_int_equal(asked[0], 0);
    w->agents_will_send = false;
    pass(w, 2);
    assert_int_equal(asked[0], 1);
}

static void a_table_that_came_is_stored_and_not_asked_for_again(void **state)
{
    struct client_world *w = *state;

    answers[1] = ST_OK;
    pass(w, 10);
    world_wait(w->base);
    pass(w, 60);
    assert_int_equal(asked[0], 1);
    assert_int_equal(asked[1], 1);
    assert_int_equal(counter(w, "debuginfod_fetched"), 1);
    assert_int_equal(ingest_read_counters(w->base->ingest).symbol_tables, 1);
}

static void what_no_server_has_is_remembered_for_a_day(void **state)
{
    struct client_world *w = *state;

    pass(w, 10);
    assert_int_equal(asked[0], 1);
    assert_int_equal(asked[1], 1);
    assert_int_equal(counter(w, "debuginfod_not_found"), 1);
    w->second += DEBUGINFOD_NEGATIVE_NS / NS_PER_S - 60;
    pass(w, 30);
    assert_int_equal(asked[0], 1);
    pass(w, 60);
    assert_int_equal(asked[0], 2);
}

static void a_refused_file_is_counted_and_remembered(void **state)
{
    struct client_world *w = *state;

    answers[0] = ST_INVALID;
    pass(w, 3600);
    assert_int_equal(asked[0], 1);
    assert_int_equal(asked[1], 1);
    assert_int_equal(counter(w, "debuginfod_refused"), 1);
}

static void a_failure_is_tried_again_sooner_than_what_is_not_there(void **state)
{
    struct client_world *w = *state;

    answers[0] = ST_TIMEOUT;
    answers[1] = ST_INVALID;
    pass(w, 10);
    assert_int_equal(counter(w, "debuginfod_failed"), 1);
    pass(w, DEBUGINFOD_RETRY_NS / NS_PER_S - 30);
    assert_int_equal(asked[0], 1);
    pass(w, 60);
    assert_int_equal(asked[0], 2);
    assert_int_equal(counter(w, "debuginfod_refused"), 0);
}

static void once_stopped_it_asks_no_more(void **state)
{
    struct client_world *w = *state;

    debuginfod_stop(w->client);
    pass(w, 60);
    assert_int_equal(asked[0], 0);
}

#define client_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        client_test(without_servers_nobody_is_asked),
        client_test(the_agents_have_their_chance_first),
        client_test(a_table_that_came_is_stored_and_not_asked_for_again),
        client_test(what_no_server_has_is_remembered_for_a_day),
        client_test(a_refused_file_is_counted_and_remembered),
        client_test(a_failure_is_tried_again_sooner_than_what_is_not_there),
        client_test(once_stopped_it_asks_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
