/* The store under strain: full maps, full disks, many days at once, repeats with other times, the
 * end. What was reported as done stays, and what was not leaves nothing in the way. */
#include "tests/unit/store/fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SMALL_MAP = 1 << 20, BATCH = 100, TEXT_BYTES = 4000, TEXTS_A_WRITE = 64 };

static enum status count_row(void *arg, const struct ledger_row *row)
{
    (void)row;
    ++*(uint32_t *)arg;
    return ST_OK;
}

static uint32_t stored_chunks(struct fixture *f)
{
    uint32_t count = 0;
    struct store_view *v;

    assert_ok(store_view_open(f->store, &v));
    assert_ok(store_view_ledger(v, (struct wall){0}, (struct wall){UINT64_MAX}, count_row, &count));
    store_view_close(v);
    return count;
}

/* ---- many writes in one batch ---- */

struct chunk_write {
    struct store_write write;
    struct chunk_info info;
    struct slice stored;
    enum status status;
    bool done;
};

static enum status apply_chunk(struct store_write *w, struct store_txn *t)
{
    struct chunk_write *c = (struct chunk_write *)w;

    return store_txn_chunk(t, &c->info, c->stored);
}

static void chunk_done(struct store_write *w, enum status st)
{
    struct chunk_write *c = (struct chunk_write *)w;

    c->status = st;
    c->done = true;
}

static void submit_chunk(struct fixture *f, struct chunk_write *c)
{
    c->write = (struct store_write){.apply = apply_chunk, .done = chunk_done, .bytes = 1};
    c->done = false;
    store_submit(f->store, &c->write);
}

static void await_chunks(struct fixture *f, const struct chunk_write *c, int count)
{
    for (int i = 0; i < count; i++)
        while (!c[i].done)
            fixture_wait(f);
}

static void chunks_of_many_days_do_not_stand_in_each_others_way(void **state)
{
    struct fixture *f = *state;
    struct chunk_write writes[40];
    uint32_t stored = 0;

    /* What a batch cannot take it says of those alone; sent again, they get in. */
    for (int round = 0; round < 3 && stored < 40; round++) {
        for (int i = 0; i < 40; i++) {
            writes[i].info = test_info(test_id(1), (uint64_t)i + 1, NOON + (uint64_t)i * DAY_NS);
            writes[i].stored = text_slice("x");
            submit_chunk(f, &writes[i]);
        }
        await_chunks(f, writes, 40);
        stored = stored_chunks(f);
    }
    assert_int_equal(stored, 40);
}

static void repeats_within_one_batch_are_found_whatever_day_they_claim(void **state)
{
    struct fixture *f = *state;
    struct chunk_write writes[BATCH];
    uint32_t fresh = 0;

    for (int i = 0; i < BATCH; i++) {
        writes[i].info = test_info(test_id(1), 5, NOON + (uint64_t)(i % 3) * DAY_NS);
        writes[i].stored = text_slice("x");
        submit_chunk(f, &writes[i]);
    }
    await_chunks(f, writes, BATCH);
    for (int i = 0; i < BATCH; i++) {
        assert_true(writes[i].status == ST_OK || writes[i].status == ST_EXISTS);
        fresh += writes[i].status == ST_OK;
    }
    assert_int_equal(fresh, 1);
    assert_int_equal(stored_chunks(f), 1);
}

static void a_repeat_is_found_on_a_day_far_away_after_a_reopen(void **state)
{
    struct fixture *f = *state;
    struct chunk_info info = test_info(test_id(1), 5, NOON);
    struct chunk_info far = test_info(test_id(1), 5, NOON + 30 * DAY_NS);
    struct chunk_info next = test_info(test_id(1), 6, NOON + 30 * DAY_NS);

    assert_ok(fixture_put_chunk(f, &info, "first"));
    assert_int_equal(fixture_put_chunk(f, &far, "moved"), ST_EXISTS);
    fixture_reopen(f);
    assert_int_equal(fixture_put_chunk(f, &far, "moved"), ST_EXISTS);
    assert_ok(fixture_put_chunk(f, &next, "another"));
    assert_int_equal(stored_chunks(f), 2);
}

/* ---- snapshots ---- */

static void a_view_never_sees_chunks_that_came_later(void **state)
{
    struct fixture *f = *state;
    struct chunk_info first = test_info(test_id(1), 1, NOON);
    struct chunk_info same_day = test_info(test_id(1), 2, NOON + 20 * NS_PER_S);
    struct chunk_info new_day = test_info(test_id(1), 3, NOON + DAY_NS);
    struct store_view *v;
    uint32_t count = 0;

    assert_ok(fixture_put_chunk(f, &first, "x"));
    assert_ok(store_view_open(f->store, &v));
    assert_ok(fixture_put_chunk(f, &same_day, "x"));
    assert_ok(fixture_put_chunk(f, &new_day, "x"));
    assert_ok(store_view_ledger(v, (struct wall){0}, (struct wall){UINT64_MAX}, count_row, &count));
    assert_int_equal(count, 1);
    assert_ok(store_view_profiler(v, test_id(1), count_row, &count));
    assert_int_equal(count, 2);
    store_view_close(v);
    assert_int_equal(stored_chunks(f), 3);
    fixture_reopen(f);
    assert_int_equal(stored_chunks(f), 3);
}

static enum status ascending(void *arg, const struct ledger_row *row)
{
    uint64_t *last = arg;

    assert_true(row->sequence > *last);
    *last = row->sequence;
    return ST_OK;
}

static void a_profiler_is_walked_by_sequence_even_if_its_clock_went_back(void **state)
{
    struct fixture *f = *state;
    const uint64_t sequences[] = {3, 1, 2, 1025, 1024, 5000};
    struct store_view *v;
    uint64_t last = 0;

    for (int i = 0; i < 6; i++) {
        struct chunk_info info =
            test_info(test_id(1), sequences[i], NOON + (uint64_t)(i % 3) * DAY_NS);

        assert_ok(fixture_put_chunk(f, &info, "x"));
    }
    assert_ok(store_view_open(f->store, &v));
    assert_ok(store_view_profiler(v, test_id(1), ascending, &last));
    store_view_close(v);
    assert_int_equal(last, 5000);
}

/* ---- full ---- */

static void use_small_map(struct fixture *f)
{
    fixture_close(f);
    f->options.map_bytes = SMALL_MAP;
    fixture_open(f);
}

/* A catalog and a day file, each several times as large as the map they begin with. */
static void a_full_map_grows(void **state)
{
    struct fixture *f = *state;
    char *value = malloc(400000);

    memset(value, 'v', 399999);
    value[399999] = '\0';
    use_small_map(f);
    for (uint64_t i = 1; i <= 20; i++) {
        struct chunk_info info = test_info(test_id(1), i, NOON + i * NS_PER_S);
        char key[] = {'k', (char)('a' + i), '\0'};

        assert_ok(fixture_put(f, STORE_SYMBOLS, key, value));
        assert_ok(fixture_put_chunk(f, &info, value));
    }
    assert_int_equal(stored_chunks(f), 20);
    fixture_reopen(f);
    assert_int_equal(stored_chunks(f), 20);
    free(value);
}

static void a_map_that_a_view_holds_is_refused_until_the_view_closes(void **state)
{
    struct fixture *f = *state;
    char *value = malloc(400000);
    struct store_view *v;
    enum status st = ST_OK;

    memset(value, 'v', 399999);
    value[399999] = '\0';
    use_small_map(f);
    assert_ok(store_view_open(f->store, &v));
    for (char c = 'a'; c < 'k' && st == ST_OK; c++) {
        const char key[] = {c, '\0'};

        st = fixture_put(f, STORE_SYMBOLS, key, value);
    }
    assert_int_equal(st, ST_NO_SPACE);
    assert_true(store_read_counters(f->store).disk_full);
    store_view_close(v);
    assert_ok(fixture_put(f, STORE_SYMBOLS, "z", value));
    assert_false(store_read_counters(f->store).disk_full);
    free(value);
}

static void limit_files_to(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static enum status add_text(struct store_txn *t, void *arg)
{
    uint32_t id;

    return store_txn_string(t, arg, &id);
}

/* 256 KiB of new texts; `arg` counts those of earlier writes. */
static enum status add_many_texts(struct store_txn *t, void *arg)
{
    char text[TEXT_BYTES + 1];
    char number[11];

    memset(text, 't', TEXT_BYTES);
    text[TEXT_BYTES] = '\0';
    for (uint32_t i = 0; i < TEXTS_A_WRITE; i++) {
        uint32_t id;
        enum status st;

        snprintf(number, sizeof(number), "%010u", *(uint32_t *)arg + i);
        memcpy(text, number, sizeof(number) - 1);
        st = store_txn_string(t, text, &id);
        if (st != ST_OK)
            return st;
    }
    return ST_OK;
}

/* How many texts are stored when the disk is full. */
static uint32_t fill_disk(struct fixture *f)
{
    uint32_t count = 0;
    enum status st;

    while ((st = fixture_apply(f, add_many_texts, &count)) == ST_OK)
        count += TEXTS_A_WRITE;
    assert_int_equal(st, ST_NO_SPACE);
    return count;
}

static enum status read_text(struct store_txn *t, void *arg)
{
    uint32_t *id = arg;

    return store_txn_string(t, "the first after the flood", id);
}

static void what_a_full_disk_refused_is_forgotten_and_ids_stay_dense(void **state)
{
    struct fixture *f = *state;
    struct store_view *v;
    uint32_t done;
    uint32_t id = 0;
    uint32_t again = 0;

    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files_to(2 << 20);
    done = fill_disk(f);
    assert_true(done > 0);
    assert_true(store_read_counters(f->store).disk_full);
    assert_int_equal(store_read_counters(f->store).strings, done);

    limit_files_to(RLIM_INFINITY);
    assert_ok(fixture_apply(f, read_text, &id));
    assert_int_equal(id, done);
    assert_false(store_read_counters(f->store).disk_full);
    fixture_reopen(f);
    assert_ok(fixture_apply(f, read_text, &again));
    assert_int_equal(again, id);
    assert_ok(store_view_open(f->store, &v));
    assert_string_equal(dictionary_string(store_view_dictionary(v), id),
                        "the first after the flood");
    store_view_close(v);
}

static void a_full_dictionary_refuses_what_is_new_and_keeps_what_is_there(void **state)
{
    struct fixture *f = *state;

    fixture_close(f);
    f->options.limits.strings = 2;
    fixture_open(f);
    assert_ok(fixture_apply(f, add_text, "a"));
    assert_ok(fixture_apply(f, add_text, "b"));
    assert_int_equal(fixture_apply(f, add_text, "c"), ST_FULL);
    assert_ok(fixture_apply(f, add_text, "a"));
    assert_ok(fixture_put(f, STORE_AGENTS, "k", "v"));
    assert_int_equal(store_read_counters(f->store).strings, 2);
    assert_false(store_read_counters(f->store).disk_full);
}

static enum status add_loose_ends(struct store_txn *t, void *arg)
{
    const struct chunk_frame mark = {FRAME_MARK, CHUNK_NO_PARENT, 0, 0};
    const struct chunk_frame nameless = {FRAME_MARK, CHUNK_NO_PARENT, 1, 0};
    const struct build_id build = {.length = 1, .bytes = {9}};
    uint32_t id = 7;

    (void)arg;
    assert_ok(store_txn_string(t, "[truncated]", &id));
    assert_ok(store_txn_frame(t, &mark, &id));
    assert_int_equal(store_txn_frame(t, &nameless, &id), ST_INVALID);
    assert_int_equal(store_txn_binary(t, &build, 1, &id), ST_INVALID);
    assert_int_equal(store_txn_node(t, (struct chunk_node){0, 0}, &id), ST_INVALID);
    assert_int_equal(store_txn_node(t, (struct chunk_node){CHUNK_NO_PARENT, 1}, &id), ST_INVALID);
    assert_ok(store_txn_node(t, (struct chunk_node){CHUNK_NO_PARENT, 0}, &id));
    assert_ok(store_txn_node(t, (struct chunk_node){0, 0}, &id));
    return ST_OK;
}

static void content_refers_only_to_what_is_there(void **state)
{
    struct fixture *f = *state;

    assert_ok(fixture_apply(f, add_loose_ends, NULL));
    fixture_reopen(f);
    assert_int_equal(store_read_counters(f->store).strings, 1);
    assert_int_equal(store_read_counters(f->store).frames, 1);
    assert_int_equal(store_read_counters(f->store).nodes, 2);
    assert_int_equal(store_read_counters(f->store).binaries, 0);
}

/* ---- the end ---- */

struct last_words {
    struct store_write write;
    struct fixture *f;
    struct last_words *then; /* submitted when this one is done */
    enum status status;
    bool done;
};

static enum status apply_nothing(struct store_write *w, struct store_txn *t)
{
    (void)w;
    (void)t;
    return ST_OK;
}

static void say_more(struct store_write *w, enum status st)
{
    struct last_words *l = (struct last_words *)w;

    l->done = true;
    l->status = st;
    if (l->then != NULL)
        store_submit(l->f->store, &l->then->write);
}

static void closing_answers_every_write_and_what_those_submit(void **state)
{
    struct fixture *f = *state;
    struct last_words second = {.write = {.apply = apply_nothing, .done = say_more}, .f = f};
    struct last_words first = {
        .write = {.apply = apply_nothing, .done = say_more, .bytes = 10}, .f = f, .then = &second};

    store_submit(f->store, &first.write);
    store_close(f->store);
    f->store = NULL;
    assert_true(first.done);
    assert_ok(first.status);
    assert_true(second.done);
    assert_int_equal(second.status, ST_CLOSED);
}

#define test(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(chunks_of_many_days_do_not_stand_in_each_others_way),
        test(repeats_within_one_batch_are_found_whatever_day_they_claim),
        test(a_repeat_is_found_on_a_day_far_away_after_a_reopen),
        test(a_view_never_sees_chunks_that_came_later),
        test(a_profiler_is_walked_by_sequence_even_if_its_clock_went_back),
        test(a_full_map_grows),
        test(a_map_that_a_view_holds_is_refused_until_the_view_closes),
        test(what_a_full_disk_refused_is_forgotten_and_ids_stay_dense),
        test(a_full_dictionary_refuses_what_is_new_and_keeps_what_is_there),
        test(content_refers_only_to_what_is_there),
        test(closing_answers_every_write_and_what_those_submit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
