/* The store: what is done is durable, what is durable is found, what is foreign is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coordinator/store/store.h"

#define MAP_BYTES (UINT64_C(1) << 30)
#define NOON (UINT64_C(1796040000) * NS_PER_S) /* 2026-11-30T12:00:00Z */

struct fixture {
    char directory[64];
    struct store *store;
    sem_t woken;
};

static void on_wake(void *arg)
{
    struct fixture *f = arg;

    (void)sem_post(&f->woken);
}

static enum status open_store(struct fixture *f, char why[STORE_WHY_MAX])
{
    const struct store_options options = {
        .directory = f->directory, .map_bytes = MAP_BYTES, .wake = on_wake, .arg = f};

    return store_open(&options, &f->store, why);
}

static void reopen(struct fixture *f)
{
    char why[STORE_WHY_MAX] = "";

    store_close(f->store);
    f->store = NULL;
    if (open_store(f, why) != ST_OK)
        fail_msg("%s", why);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    char why[STORE_WHY_MAX];

    strcpy(f->directory, "/tmp/fleetprof-store-XXXXXX");
    if (mkdtemp(f->directory) == NULL || sem_init(&f->woken, 0, 0) != 0)
        return -1;
    *state = f;
    return open_store(f, why) == ST_OK ? 0 : -1;
}

static void remove_directory(const char *directory)
{
    char command[128];

    (void)snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0); /* NOLINT: our own directory */
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    store_close(f->store);
    remove_directory(f->directory);
    (void)sem_destroy(&f->woken);
    free(f);
    return 0;
}

/* ---- writes for tests ---- */

struct put {
    struct store_write write;
    enum store_table table;
    const char *key, *value; /* value NULL: delete */
    struct chunk_info info; /* with `stored` */
    struct slice stored;
    const char *text; /* intern this string */
    uint32_t id;
    enum status result;
    bool done;
};

static struct slice text_slice(const char *text)
{
    return (struct slice){(const uint8_t *)text, strlen(text)};
}

static enum status apply_put(struct store_write *w, struct store_txn *t)
{
    struct put *p = (struct put *)w;

    if (p->text != NULL)
        return store_txn_string(t, p->text, &p->id);
    if (p->stored.bytes != NULL)
        return store_txn_chunk(t, &p->info, p->stored);
    if (p->value == NULL)
        return store_txn_delete(t, p->table, text_slice(p->key));
    return store_txn_put(t, p->table, text_slice(p->key), text_slice(p->value));
}

static void on_done(struct store_write *w, enum status st)
{
    struct put *p = (struct put *)w;

    p->result = st;
    p->done = true;
}

static void submit(struct fixture *f, struct put *p)
{
    p->write =
        (struct store_write){.apply = apply_put, .done = on_done, .bytes = 64 + p->stored.length};
    p->done = false;
    store_submit(f->store, &p->write);
}

static enum status await(struct fixture *f, struct put *p)
{
    while (!p->done) {
        (void)sem_wait(&f->woken);
        store_complete(f->store);
    }
    return p->result;
}

static enum status run(struct fixture *f, struct put *p)
{
    submit(f, p);
    return await(f, p);
}

static struct put record(const char *key, const char *value)
{
    return (struct put){.table = STORE_SESSIONS, .key = key, .value = value};
}

static struct put chunk_at(struct id128 profiler, uint64_t sequence, uint64_t start_ns)
{
    struct put p = {.stored = text_slice("stored form of a chunk")};

    p.info = (struct chunk_info){.profiler = profiler,
                                 .sequence = sequence,
                                 .start = {1000},
                                 .end = {1000 + 10 * NS_PER_S},
                                 .wall_start = {start_ns},
                                 .event = EVENT_CPU,
                                 .period_ns = 10101010,
                                 .inclusion = 1,
                                 .cpus = 2};
    p.info.ledger.delivered = sequence;
    p.info.ledger.idle = sequence;
    p.info.ledger.expected = 2 * sequence + 3;
    p.info.ledger.lost[LOSS_SPOOL] = 3;
    p.info.cost.rss_bytes = 4096;
    return p;
}

/* ---- reading for tests ---- */

static enum status get(struct fixture *f, const char *key, char *out, size_t size)
{
    struct store_view *v;
    struct slice value;
    enum status st;

    assert_int_equal(store_view_open(f->store, &v), ST_OK);
    st = store_view_get(v, STORE_SESSIONS, text_slice(key), &value);
    if (st == ST_OK)
        (void)snprintf(out, size, "%.*s", (int)value.length, (const char *)value.bytes);
    store_view_close(v);
    return st;
}

struct seen {
    uint64_t sequences[4096];
    size_t count;
    struct ledger_row last;
    size_t stored_bytes;
};

static enum status see_row(void *arg, const struct ledger_row *row)
{
    struct seen *s = arg;

    assert_true(s->count < sizeof(s->sequences) / sizeof(s->sequences[0]));
    s->sequences[s->count++] = row->sequence;
    s->last = *row;
    return ST_OK;
}

static enum status see_chunk(void *arg, const struct ledger_row *row, struct slice stored)
{
    struct seen *s = arg;

    s->stored_bytes += stored.length;
    return see_row(s, row);
}

static struct seen chunks_between(struct fixture *f, uint64_t from, uint64_t to)
{
    struct store_view *v;
    struct seen s = {0};

    assert_int_equal(store_view_open(f->store, &v), ST_OK);
    assert_int_equal(store_view_chunks(v, (struct wall){from}, (struct wall){to}, see_chunk, &s),
                     ST_OK);
    store_view_close(v);
    return s;
}

/* ---- the claims ---- */

static void what_is_done_is_there_after_a_reopen(void **state)
{
    struct fixture *f = *state;
    struct put a = record("a", "one"), b = record("b", "two"), gone = record("a", NULL);
    char value[16];

    assert_int_equal(run(f, &a), ST_OK);
    assert_int_equal(run(f, &b), ST_OK);
    reopen(f);
    assert_int_equal(get(f, "a", value, sizeof(value)), ST_OK);
    assert_string_equal(value, "one");
    assert_int_equal(run(f, &gone), ST_OK);
    assert_int_equal(get(f, "a", value, sizeof(value)), ST_NOT_FOUND);
    assert_int_equal(get(f, "b", value, sizeof(value)), ST_OK);
}

static void a_view_does_not_see_what_came_later(void **state)
{
    struct fixture *f = *state;
    struct put a = record("a", "one"), b = record("a", "two");
    struct store_view *v;
    struct slice value;

    assert_int_equal(run(f, &a), ST_OK);
    assert_int_equal(store_view_open(f->store, &v), ST_OK);
    assert_int_equal(run(f, &b), ST_OK);
    assert_int_equal(store_view_get(v, STORE_SESSIONS, text_slice("a"), &value), ST_OK);
    assert_memory_equal(value.bytes, "one", 3);
    store_view_close(v);
}

static void equal_content_has_one_id_for_ever(void **state)
{
    struct fixture *f = *state;
    struct put a = {.text = "malloc"}, b = {.text = "free"}, again = {.text = "malloc"},
               empty = {.text = ""};
    struct store_view *v;

    assert_int_equal(run(f, &a), ST_OK);
    assert_int_equal(run(f, &b), ST_OK);
    assert_int_equal(run(f, &empty), ST_OK);
    reopen(f);
    assert_int_equal(run(f, &again), ST_OK);
    assert_int_equal(again.id, a.id);
    assert_int_not_equal(b.id, a.id);
    assert_int_equal(store_read_counters(f->store).strings, 3);

    assert_int_equal(store_view_open(f->store, &v), ST_OK);
    assert_string_equal(dictionary_string(store_view_dictionary(v), b.id), "free");
    assert_string_equal(dictionary_string(store_view_dictionary(v), 99), "");
    store_view_close(v);
}

static void many_contents_keep_their_ids(void **state)
{
    enum { MANY = 5000, BATCH = 500 };
    struct fixture *f = *state;
    struct put *puts = calloc(BATCH, sizeof(*puts));
    char(*texts)[24] = calloc(BATCH, sizeof(*texts));
    struct store_view *v;

    for (int i = 0; i < MANY; i += BATCH) {
        for (int j = 0; j < BATCH; j++) {
            (void)snprintf(texts[j], sizeof(texts[j]), "function_%d", i + j);
            puts[j] = (struct put){.text = texts[j]};
            submit(f, &puts[j]);
        }
        for (int j = 0; j < BATCH; j++) {
            assert_int_equal(await(f, &puts[j]), ST_OK);
            assert_int_equal(puts[j].id, i + j);
        }
    }
    reopen(f);
    assert_int_equal(store_view_open(f->store, &v), ST_OK);
    assert_string_equal(dictionary_string(store_view_dictionary(v), 4711), "function_4711");
    store_view_close(v);
    free(puts);
    free(texts);
}

static void chunks_are_found_by_time_across_midnight(void **state)
{
    struct fixture *f = *state;
    struct id128 profiler = id128_random();
    const uint64_t midnight = NOON + 43200 * NS_PER_S;
    struct seen s;

    for (uint64_t i = 1; i <= 4; i++) {
        struct put p = chunk_at(profiler, i, midnight + (i - 3) * 10 * NS_PER_S);

        assert_int_equal(run(f, &p), ST_OK);
    }
    s = chunks_between(f, midnight - 5 * NS_PER_S, midnight + 5 * NS_PER_S);
    assert_int_equal(s.count, 2);
    assert_int_equal(s.sequences[0], 2);
    assert_int_equal(s.sequences[1], 3);
    assert_int_equal(s.stored_bytes, 2 * strlen("stored form of a chunk"));

    assert_int_equal(chunks_between(f, 0, UINT64_MAX).count, 4);
    assert_int_equal(chunks_between(f, midnight + 20 * NS_PER_S, UINT64_MAX).count, 0);
    assert_int_equal(chunks_between(f, midnight, midnight).count, 0);
}

static void a_row_keeps_every_number(void **state)
{
    struct fixture *f = *state;
    struct put p = chunk_at(id128_random(), 7, NOON);
    struct seen s;

    p.info.final = true;
    p.info.clock_offset_ns = -5;
    assert_int_equal(run(f, &p), ST_OK);
    s = chunks_between(f, 0, UINT64_MAX);
    assert_int_equal(s.count, 1);
    assert_true(id128_equal(s.last.profiler, p.info.profiler));
    assert_int_equal(s.last.start.ns, NOON - 5);
    assert_int_equal(s.last.end.ns, NOON - 5 + 10 * NS_PER_S);
    assert_true(s.last.final);
    assert_int_equal(s.last.cpus, 2);
    assert_int_equal(s.last.period_ns, 10101010);
    assert_memory_equal(&s.last.ledger, &p.info.ledger, sizeof(p.info.ledger));
    assert_memory_equal(&s.last.cost, &p.info.cost, sizeof(p.info.cost));
}

static void a_chunk_is_stored_once_even_when_a_clock_steps_over_midnight(void **state)
{
    struct fixture *f = *state;
    struct id128 profiler = id128_random();
    struct put p = chunk_at(profiler, 1, NOON), again = chunk_at(profiler, 1, NOON),
               tomorrow = chunk_at(profiler, 1, NOON + 86400 * NS_PER_S),
               other = chunk_at(id128_random(), 1, NOON);

    assert_int_equal(run(f, &p), ST_OK);
    assert_int_equal(run(f, &again), ST_EXISTS);
    assert_int_equal(run(f, &tomorrow), ST_EXISTS);
    assert_int_equal(run(f, &other), ST_OK);
    reopen(f);
    assert_int_equal(run(f, &again), ST_EXISTS);
    assert_int_equal(chunks_between(f, 0, UINT64_MAX).count, 2);
}

static void a_profiler_is_found_by_sequence(void **state)
{
    struct fixture *f = *state;
    struct id128 profiler = id128_random();
    struct store_view *v;
    struct seen s = {0};

    for (uint64_t i = 3; i >= 1; i--) {
        struct put p = chunk_at(profiler, i, NOON + i * 10 * NS_PER_S),
                   noise = chunk_at(id128_random(), i, NOON);

        assert_int_equal(run(f, &p), ST_OK);
        assert_int_equal(run(f, &noise), ST_OK);
    }
    assert_int_equal(store_view_open(f->store, &v), ST_OK);
    assert_int_equal(store_view_profiler(v, profiler, see_row, &s), ST_OK);
    store_view_close(v);
    assert_int_equal(s.count, 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(s.sequences[i], i + 1);
}

static void a_second_process_is_refused(void **state)
{
    struct fixture *f = *state;
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct fixture other = *f;
        char why[STORE_WHY_MAX] = "";
        enum status st = open_store(&other, why);

        _exit(st == ST_BAD_STATE && strstr(why, f->directory) != NULL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void another_layout_version_is_refused_by_name(void **state)
{
    struct fixture *f = *state;
    struct put p = {.table = STORE_META, .key = "layout version", .value = "\x01\x02\x03\x04"};
    char why[STORE_WHY_MAX] = "";

    assert_int_equal(run(f, &p), ST_OK);
    store_close(f->store);
    f->store = NULL;
    assert_int_equal(open_store(f, why), ST_UNSUPPORTED);
    assert_non_null(strstr(why, "16909060"));
    assert_null(f->store);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(what_is_done_is_there_after_a_reopen),
        CLAIM(a_view_does_not_see_what_came_later),
        CLAIM(equal_content_has_one_id_for_ever),
        CLAIM(many_contents_keep_their_ids),
        CLAIM(chunks_are_found_by_time_across_midnight),
        CLAIM(a_row_keeps_every_number),
        CLAIM(a_chunk_is_stored_once_even_when_a_clock_steps_over_midnight),
        CLAIM(a_profiler_is_found_by_sequence),
        CLAIM(a_second_process_is_refused),
        CLAIM(another_layout_version_is_refused_by_name),
    };
#undef CLAIM

    return cmocka_run_group_tests(tests, NULL, NULL);
}
