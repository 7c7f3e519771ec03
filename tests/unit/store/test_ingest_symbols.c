/* Symbols through ingest: in parts, checked, once a binary, bounded whoever sends what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/symtab.h"
#include "coordinator/ingest/symbol_uploads.h"
#include "tests/unit/store/ingest_world.h"

enum { BINARIES = INGEST_UPLOADS_MAX + 2 };

struct symbols_world {
    struct ingest_world *base;
    struct build_id ids[BINARIES]; /* of stored samples */
    struct blob packed; /* a table for any of them */
    uint32_t calls, awaited; /* of `done` */
    struct build_id last_id;
    enum status last;
};

/* ---- the world ---- */

/* The samples of one chunk run through all of `ids`. */
static void store_binaries(struct symbols_world *w)
{
    struct chunk c = world_chunk(w->base, 1);
    struct chunk_dictionary *d = &c.dictionary;

    d->binaries = realloc(d->binaries, (d->binary_count + BINARIES) * sizeof(*d->binaries));
    for (uint32_t i = 0; i < d->binary_count; i++)
        d->binaries[i].id = (struct build_id){0}; /* not known: nobody asks for them */
    for (uint32_t i = 0; i < BINARIES; i++) {
        w->ids[i] = (struct build_id){.length = 20, .bytes = {(uint8_t)(i + 1)}};
        d->binaries[d->binary_count++] = (struct chunk_binary){w->ids[i], CHUNK_NO_PARENT};
    }
    assert_int_equal(world_offer(w->base, WORLD_HOST, &c).result.status, ST_OK);
    chunk_deinit(&c);
}

static int set_up(void **state)
{
    struct symbols_world *w = calloc(1, sizeof(*w));
    struct symtab t = {0};
    void *base;

    if (world_set_up(&base) != 0)
        return -1;
    w->base = base;
    store_binaries(w);
    assert_int_equal(symtab_add(&t, 0x1000, 0x100, "main"), ST_OK);
    assert_int_equal(symtab_add(&t, 0x1100, 0x100, "work"), ST_OK);
    symtab_sort(&t);
    assert_int_equal(symtab_encode(&t, &w->packed), ST_OK);
    symtab_deinit(&t);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct symbols_world *w = *state;
    void *base = w->base;

    blob_deinit(&w->packed);
    free(w);
    return world_tear_down(&base);
}

static const struct symbols_source agent = {
    .origin = SYMBOL_FROM_AGENT, .from = WORLD_HOST, .name = ""};
static const struct symbols_source other_agent = {
    .origin = SYMBOL_FROM_AGENT, .from = "web-2", .name = ""};

static void on_done(void *arg, const struct symbols_result *result)
{
    struct symbols_world *w = arg;

    w->calls++;
    w->last_id = result->id;
    w->last = result->status;
}

static enum status send_bytes(struct symbols_world *w, uint32_t binary, uint32_t part,
                              uint32_t parts, struct slice bytes)
{
    const struct symbols_part p = {
        .id = w->ids[binary], .part = part, .parts = parts, .bytes = bytes};

    return ingest_symbols(w->base->ingest, &agent, &p, on_done, w);
}

/* That part of the table, cut in `parts`. */
static enum status send_part(struct symbols_world *w, uint32_t binary, uint32_t part,
                             uint32_t parts)
{
    size_t from = w->packed.length * part / parts, to = w->packed.length * (part + 1) / parts;

    return send_bytes(w, binary, part, parts, (struct slice){w->packed.bytes + from, to - from});
}

static enum status await(struct symbols_world *w)
{
    while (w->calls == w->awaited)
        world_wait(w->base);
    assert_int_equal(w->calls, ++w->awaited);
    return w->last;
}

static bool is_stored(struct symbols_world *w, uint32_t binary)
{
    const struct build_id *id = &w->ids[binary];
    struct store_view *v;
    struct slice value;
    bool same = false;

    assert_int_equal(store_view_open(w->base->store, &v), ST_OK);
    if (store_view_get(v, STORE_SYMBOLS, (struct slice){id->bytes, id->length}, &value) == ST_OK) {
        same = value.length == w->packed.length &&
               memcmp(value.bytes, w->packed.bytes, value.length) == 0;
        assert_true(same);
    }
    store_view_close(v);
    return same;
}

/* ---- the claims ---- */

static void symbols_are_stored_as_they_came(void **state)
{
    struct symbols_world *w = *state;

    assert_int_equal(send_part(w, 0, 0, 1), ST_OK);
    assert_int_equal(await(w), ST_OK);
    assert_true(build_id_equal(&w->last_id, &w->ids[0]));
    assert_int_equal(ingest_read_counters(w->base->ingest).symbol_tables, 1);
    world_reopen(w->base);
    assert_true(is_stored(w, 0));
    assert_false(is_stored(w, 1));
}

static void parts_are_put_together_and_only_the_last_is_reported(void **state)
{
    enum { PARTS = 5 };
    struct symbols_world *w = *state;

    for (uint32_t i = 0; i < PARTS; i++) { /* two uploads, interleaved */
        assert_int_equal(w->calls, 0);
        assert_int_equal(store_waiting_bytes(w->base->store), 0);
        assert_int_equal(send_part(w, 0, i, PARTS), ST_OK);
        if (i + 1 < PARTS)
            assert_int_equal(send_part(w, 1, i, PARTS), ST_OK);
    }
    assert_int_equal(await(w), ST_OK);
    assert_true(is_stored(w, 0));
    assert_int_equal(send_part(w, 1, PARTS - 1, PARTS), ST_OK);
    assert_int_equal(await(w), ST_OK);
    assert_true(is_stored(w, 1));
}

static void assert_gone(struct symbols_world *w, uint32_t next_part, uint32_t parts)
{
    assert_int_equal(send_part(w, 0, next_part, parts), ST_INVALID);
    assert_int_equal(w->calls, 0);
    assert_int_equal(store_waiting_bytes(w->base->store), 0);
}

static void parts_out_of_order_end_the_upload(void **state)
{
    struct symbols_world *w = *state;
    const struct symbols_part other = {
        .id = w->ids[0], .part = 1, .parts = 3, .bytes = {w->packed.bytes, 1}};

    assert_gone(w, 1, 3); /* never begun */
    assert_int_equal(send_part(w, 0, 0, 3), ST_OK);
    assert_int_equal(send_part(w, 0, 2, 3), ST_INVALID); /* one is left out */
    assert_gone(w, 1, 3);

    assert_int_equal(send_part(w, 0, 0, 3), ST_OK);
    assert_int_equal(send_part(w, 0, 1, 4), ST_INVALID); /* another number of parts */
    assert_gone(w, 1, 3);

    assert_int_equal(send_part(w, 0, 0, 3), ST_OK);
    assert_int_equal(ingest_symbols(w->base->ingest, &other_agent, &other, on_done, w), ST_INVALID);
    assert_gone(w, 1, 3);
    assert_true(ingest_read_counters(w->base->ingest).symbol_refused > 0);
}

static void part_0_begins_anew(void **state)
{
    struct symbols_world *w = *state;
    struct symbols_part p = {.id = w->ids[0], .part = 0, .parts = 9};

    assert_int_equal(ingest_symbols(w->base->ingest, &other_agent, &p, on_done, w), ST_OK);
    assert_int_equal(send_part(w, 0, 0, 2), ST_OK);
    assert_int_equal(send_part(w, 0, 0, 2), ST_OK);
    assert_int_equal(send_part(w, 0, 1, 2), ST_OK);
    assert_int_equal(await(w), ST_OK);
    assert_true(is_stored(w, 0));
}

static void a_host_that_has_none_drops_the_upload(void **state)
{
    struct symbols_world *w = *state;

    assert_int_equal(send_part(w, 0, 0, 2), ST_OK);
    assert_int_equal(send_bytes(w, 0, 0, 0, (struct slice){NULL, 0}), ST_OK);
    assert_gone(w, 1, 2);
    assert_int_equal(send_bytes(w, 1, 0, 0, (struct slice){NULL, 0}), ST_OK); /* of none: fine */
}

static void a_table_that_is_none_is_not_stored(void **state)
{
    struct symbols_world *w = *state;
    const uint8_t lie[] = "these are no symbols";

    assert_int_equal(send_bytes(w, 0, 0, 1, (struct slice){lie, sizeof(lie)}), ST_OK);
    assert_int_equal(await(w), ST_INVALID);
    assert_int_equal(send_bytes(w, 0, 0, 1, (struct slice){NULL, 0}), ST_OK);
    assert_int_equal(await(w), ST_INVALID);
    for (size_t cut = 0; cut < w->packed.length; cut++) {
        assert_int_equal(send_bytes(w, 0, 0, 1, (struct slice){w->packed.bytes, cut}), ST_OK);
        assert_int_not_equal(await(w), ST_OK);
    }
    assert_false(is_stored(w, 0));
    assert_int_equal(ingest_read_counters(w->base->ingest).symbol_tables, 0);
    assert_int_equal(ingest_read_counters(w->base->ingest).symbol_refused, w->packed.length + 2);

    assert_int_equal(send_part(w, 0, 0, 1), ST_OK);
    assert_int_equal(await(w), ST_OK);
}

static void symbols_of_nobodys_samples_are_not_taken(void **state)
{
    struct symbols_world *w = *state;

    w->ids[0] = (struct build_id){.length = 20, .bytes = {0xff}};
    assert_int_equal(send_part(w, 0, 0, 1), ST_NOT_FOUND);
    w->ids[0] = (struct build_id){0}; /* stored samples do have a binary that is not known */
    assert_int_equal(send_part(w, 0, 0, 1), ST_NOT_FOUND);
    assert_int_equal(store_waiting_bytes(w->base->store), 0);
}

static void symbols_are_stored_once(void **state)
{
    struct symbols_world *w = *state;

    assert_int_equal(send_part(w, 0, 0, 1), ST_OK);
    assert_int_equal(send_part(w, 0, 0, 1), ST_OK); /* before the first is durable */
    while (w->calls < 2)
        world_wait(w->base);
    assert_int_equal(w->last, ST_EXISTS);
    assert_int_equal(send_part(w, 0, 0, 1), ST_EXISTS);
    assert_int_equal(ingest_read_counters(w->base->ingest).symbol_tables, 1);
}

static enum status offer(struct symbols_world *w, const struct symtab *t, bool force)
{
    struct symbols_part p = {.id = w->ids[0], .parts = 1};
    const struct symbols_source ann = {
        .origin = SYMBOL_FROM_OPERATOR, .from = "ann", .name = "app.debug", .force = force};
    struct blob packed;

    assert_int_equal(symtab_encode(t, &packed), ST_OK);
    p.bytes = blob_slice(&packed);
    assert_int_equal(ingest_symbols(w->base->ingest, &ann, &p, on_done, w), ST_OK);
    blob_deinit(&packed);
    return await(w);
}

static struct symbol_record record_of(struct symbols_world *w, uint32_t binary)
{
    const struct build_id *id = &w->ids[binary];
    struct symbol_record record = {0};
    struct store_view *v;
    struct slice value;

    assert_int_equal(store_view_open(w->base->store, &v), ST_OK);
    assert_int_equal(
        store_view_get(v, STORE_SYMBOL_RECORDS, (struct slice){id->bytes, id->length}, &value),
        ST_OK);
    assert_int_equal(symbol_record_decode(value, &record), ST_OK);
    store_view_close(v);
    return record;
}

static void a_better_table_takes_the_place_of_a_worse_one_and_never_the_reverse(void **state)
{
    struct symbols_world *w = *state;
    struct symtab exports = {.sources = SYMTAB_FROM_DYNSYM}, all = {.sources = SYMTAB_FROM_SYMTAB};

    assert_int_equal(symtab_add(&exports, 1, 1, "main"), ST_OK);
    assert_int_equal(symtab_add(&exports, 2, 1, "work"), ST_OK);
    assert_int_equal(symtab_add(&all, 1, 1, "main"), ST_OK);
    assert_int_equal(offer(w, &exports, false), ST_OK);
    assert_int_equal(offer(w, &exports, false), ST_EXISTS); /* not better than itself */
    assert_int_equal(offer(w, &all, false), ST_OK); /* the grade counts before the number */
    assert_int_equal(offer(w, &exports, false), ST_EXISTS);
    assert_int_equal(record_of(w, 0).grade, SYMTAB_GRADE_FUNCTIONS);
    assert_int_equal(symtab_add(&all, 3, 1, "more"), ST_OK);
    assert_int_equal(offer(w, &all, false), ST_OK); /* more of the same grade */
    assert_int_equal(offer(w, &exports, true), ST_OK); /* an operator may insist */
    assert_int_equal(record_of(w, 0).grade, SYMTAB_GRADE_EXPORTS);
    assert_int_equal(record_of(w, 0).symbols, 2);
    symtab_deinit(&exports);
    symtab_deinit(&all);
}

static void the_store_knows_where_a_table_came_from(void **state)
{
    struct symbols_world *w = *state;
    struct symtab all = {.sources = SYMTAB_FROM_SYMTAB};
    struct symbol_record r;

    assert_int_equal(send_part(w, 1, 0, 1), ST_OK);
    assert_int_equal(await(w), ST_OK);
    r = record_of(w, 1);
    assert_int_equal(r.origin, SYMBOL_FROM_AGENT);
    assert_string_equal(r.from, WORLD_HOST);
    assert_int_equal(r.symbols, 2);
    assert_int_equal(symtab_add(&all, 1, 1, "main"), ST_OK);
    assert_int_equal(offer(w, &all, false), ST_OK);
    r = record_of(w, 0);
    assert_int_equal(r.origin, SYMBOL_FROM_OPERATOR);
    assert_string_equal(r.from, "ann");
    assert_string_equal(r.name, "app.debug");
    assert_int_equal(r.sources, SYMTAB_FROM_SYMTAB);
    symtab_deinit(&all);
}

/* They name the samples when these come; an agent is not believed that far. */
static void an_operator_may_send_symbols_before_the_samples(void **state)
{
    struct symbols_world *w = *state;
    struct symtab t = {0};

    w->ids[0] = (struct build_id){.length = 20, .bytes = {0xfe}};
    assert_int_equal(send_part(w, 0, 0, 1), ST_NOT_FOUND);
    assert_int_equal(symtab_add(&t, 1, 1, "main"), ST_OK);
    assert_int_equal(offer(w, &t, false), ST_OK);
    symtab_deinit(&t);
}

static void too_many_uploads_wait_unless_one_sleeps(void **state)
{
    struct symbols_world *w = *state;
    const uint32_t late = INGEST_UPLOADS_MAX;
    uint32_t next = 1;

    for (uint32_t i = 0; i < INGEST_UPLOADS_MAX; i++)
        assert_int_equal(send_part(w, i, 0, 1000), ST_OK);
    assert_int_equal(send_part(w, late, 0, 1000), ST_FULL);
    assert_int_equal(send_part(w, late, 1, 1000), ST_INVALID); /* it has not begun */

    /* All but the first go on, until that one has slept through enough of their parts. */
    for (uint32_t heard = 0; heard < INGEST_UPLOAD_STALE_PARTS; next++)
        for (uint32_t i = 1; i < INGEST_UPLOADS_MAX; i++, heard++)
            assert_int_equal(send_part(w, i, next, 1000), ST_OK);
    assert_int_equal(send_part(w, late, 0, 1000), ST_OK);
    assert_int_equal(send_part(w, late + 1, 0, 1000), ST_FULL); /* nobody else slept */
    assert_int_equal(send_part(w, 0, 1, 1000), ST_INVALID); /* it made room */
    assert_int_equal(send_part(w, 1, next, 1000), ST_OK);
}

static void a_finished_upload_makes_room(void **state)
{
    struct symbols_world *w = *state;

    for (uint32_t i = 0; i < INGEST_UPLOADS_MAX; i++)
        assert_int_equal(send_part(w, i, 0, 2), ST_OK);
    assert_int_equal(send_part(w, 0, 1, 2), ST_OK);
    assert_int_equal(await(w), ST_OK);
    assert_int_equal(send_part(w, INGEST_UPLOADS_MAX, 0, 2), ST_OK);
}

static void uploads_are_bounded_in_bytes(void **state)
{
    struct symbol_uploads u = {0};
    struct symbol_upload *whole = NULL;
    void *zeros = mmap(NULL, SYMTAB_PACKED_MAX, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct symbols_part p = {.parts = 2, .bytes = {zeros, SYMTAB_PACKED_MAX}};

    (void)state;
    assert_true(zeros != MAP_FAILED);
    for (uint8_t i = 1; i <= INGEST_UPLOAD_BYTES_MAX / SYMTAB_PACKED_MAX; i++) {
        p.id = (struct build_id){.length = 1, .bytes = {i}};
        assert_int_equal(symbol_uploads_add(&u, SYMBOL_FROM_AGENT, WORLD_HOST, &p, &whole), ST_OK);
    }
    p.id.bytes[0]++;
    p.bytes.length = 1;
    assert_int_equal(symbol_uploads_add(&u, SYMBOL_FROM_AGENT, WORLD_HOST, &p, &whole), ST_FULL);
    p.id.bytes[0]--;
    p.part = 1;
    assert_int_equal(symbol_uploads_add(&u, SYMBOL_FROM_AGENT, WORLD_HOST, &p, &whole), ST_TOO_BIG);
    p.id.bytes[0]++;
    p.part = 0;
    assert_int_equal(symbol_uploads_add(&u, SYMBOL_FROM_AGENT, WORLD_HOST, &p, &whole),
                     ST_OK); /* that made room */
    assert_null(whole);
    assert_int_equal(u.bytes, SYMTAB_PACKED_MAX + 1);
    symbol_uploads_deinit(&u);
    assert_int_equal(u.bytes, 0);
    (void)munmap(zeros, SYMTAB_PACKED_MAX);
}

static uint32_t read_missing(struct symbols_world *w, uint32_t *cursor, uint32_t max,
                             bool seen[BINARIES])
{
    struct build_id ids[BINARIES];
    uint32_t count = ingest_missing_symbols(w->base->ingest, cursor, ids, max);

    assert_true(count <= max);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(ids[i].length, 20);
        assert_false(seen[ids[i].bytes[0] - 1]);
        seen[ids[i].bytes[0] - 1] = true;
    }
    return count;
}

static void what_is_missing_is_walked_from_where_one_was(void **state)
{
    enum { MAX = 5, STORED = 3 };
    struct symbols_world *w = *state;
    bool seen[BINARIES] = {false}, again[BINARIES] = {false};
    uint32_t cursor = 0, count = 0;

    assert_int_equal(send_part(w, STORED, 0, 1), ST_OK);
    assert_int_equal(await(w), ST_OK);
    do {
        count += read_missing(w, &cursor, MAX, seen);
    } while (cursor != 0);
    assert_int_equal(count, BINARIES - 1);
    assert_false(seen[STORED]);
    assert_int_equal(read_missing(w, &cursor, BINARIES, again), BINARIES - 1);
    assert_int_equal(cursor, 0);
    assert_int_equal(read_missing(w, &cursor, 0, again), 0);
}

#define symbols_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        symbols_test(symbols_are_stored_as_they_came),
        symbols_test(parts_are_put_together_and_only_the_last_is_reported),
        symbols_test(parts_out_of_order_end_the_upload),
        symbols_test(part_0_begins_anew),
        symbols_test(a_host_that_has_none_drops_the_upload),
        symbols_test(a_table_that_is_none_is_not_stored),
        symbols_test(symbols_of_nobodys_samples_are_not_taken),
        symbols_test(symbols_are_stored_once),
        symbols_test(a_better_table_takes_the_place_of_a_worse_one_and_never_the_reverse),
        symbols_test(the_store_knows_where_a_table_came_from),
        symbols_test(an_operator_may_send_symbols_before_the_samples),
        symbols_test(too_many_uploads_wait_unless_one_sleeps),
        symbols_test(a_finished_upload_makes_room),
        cmocka_unit_test(uploads_are_bounded_in_bytes),
        symbols_test(what_is_missing_is_walked_from_where_one_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
