/* Chunks through ingest: what is reported is durable and says the same; the rest is put off. What
 * is refused is in test_ingest_refusals.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/ingest_world.h"
#include "tests/unit/store/reading.h"

/* ---- what is stored ---- */

struct comparing {
    const struct chunk *sent; /* by sequence, from 1 */
    const struct dictionary *dictionary;
    uint64_t chunks, samples;
};

static enum status compare(void *arg, const struct ledger_row *row, struct slice stored)
{
    struct comparing *x = arg;
    const struct reading sent = {&x->sent[row->sequence - 1], NULL};
    struct chunk c;

    assert_int_equal(chunk_decode(stored, CHUNK_STORED, &c, NULL), ST_OK);
    reading_assert_same(&sent, &(struct reading){&c, x->dictionary});
    x->chunks++;
    x->samples += c.samples.sample_count;
    chunk_deinit(&c);
    return ST_OK;
}

static struct comparing compare_with_store(struct ingest_world *w, const struct chunk *sent)
{
    struct comparing x = {.sent = sent};
    struct store_view *v;

    assert_int_equal(store_view_open(w->store, &v), ST_OK);
    x.dictionary = store_view_dictionary(v);
    assert_int_equal(store_view_chunks(v, (struct wall){0}, (struct wall){UINT64_MAX}, compare, &x),
                     ST_OK);
    store_view_close(v);
    return x;
}

/* ---- the claims ---- */

static void what_is_reported_is_durable_and_says_the_same(void **state)
{
    enum { CHUNKS = 12 };
    struct ingest_world *w = *state;
    struct chunk sent[CHUNKS];
    struct ingest_counters n;
    struct comparing x;
    uint64_t samples = 0;

    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct outcome o;

        sent[i] = world_chunk(w, i + 1);
        samples += sent[i].samples.sample_count;
        o = world_offer(w, WORLD_HOST, &sent[i]);
        assert_int_equal(o.result.status, ST_OK);
        assert_int_equal(o.result.refusal, 0);
        assert_int_equal(o.result.info.sequence, i + 1);
        assert_true(id128_equal(o.result.info.profiler, w->profiler));
    }
    n = ingest_read_counters(w->ingest);
    assert_int_equal(n.chunks, CHUNKS);
    assert_int_equal(n.samples, samples);
    assert_int_equal(n.folded_samples, 0);

    world_reopen(w);
    x = compare_with_store(w, sent);
    assert_int_equal(x.chunks, CHUNKS);
    assert_int_equal(x.samples, samples);
    for (uint32_t i = 0; i < CHUNKS; i++)
        chunk_deinit(&sent[i]);
}

static void a_chunk_that_came_before_is_a_duplicate(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    struct outcome first = world_offer(w, WORLD_HOST, &c), again;
    struct comparing x;

    assert_int_equal(first.result.status, ST_OK);
    world_reopen(w);
    again = world_offer(w, WORLD_HOST, &c);
    assert_int_equal(again.result.status, ST_EXISTS);
    assert_int_equal(again.result.refusal, 0);
    assert_int_equal(again.result.info.sequence, 1);
    assert_int_equal(again.result.new_binary_count, first.result.new_binary_count);
    assert_int_equal(ingest_read_counters(w->ingest).duplicates, 1);
    assert_int_equal(ingest_read_counters(w->ingest).samples, 0);
    x = compare_with_store(w, &c);
    assert_int_equal(x.chunks, 1);
    chunk_deinit(&c);
}

static void what_is_known_is_not_stored_again(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    struct store_counters before, after;

    assert_int_equal(world_offer(w, WORLD_HOST, &c).result.status, ST_OK);
    before = store_read_counters(w->store);
    c.info.sequence = 2;
    assert_int_equal(world_offer(w, WORLD_HOST, &c).result.status, ST_OK);
    after = store_read_counters(w->store);
    assert_int_equal(after.chunks, before.chunks + 1);
    assert_int_equal(after.strings, before.strings);
    assert_int_equal(after.binaries, before.binaries);
    assert_int_equal(after.frames, before.frames);
    assert_int_equal(after.nodes, before.nodes);
    chunk_deinit(&c);
}

/* zstd ignores a few bits of its header; its checksum covers what the rest says. */
static void a_damaged_chunk_is_refused_or_says_the_same(void **state)
{
    enum { TRIES = 300 };
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    uint32_t refused = 0;
    struct blob b;

    assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &b), ST_OK);
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t at = rng_below(&w->rng, (uint32_t)b.length);
        uint8_t flip = (uint8_t)(1u << rng_below(&w->rng, 8));

        b.bytes[at] ^= flip;
        refused += world_offer_bytes(w, WORLD_HOST, blob_slice(&b)).result.refusal != 0;
        b.bytes[at] ^= flip;
    }
    assert_true(refused > TRIES / 2);
    (void)world_offer_bytes(w, WORLD_HOST, blob_slice(&b));
    assert_int_equal(compare_with_store(w, &c).chunks, 1);
    blob_deinit(&b);
    chunk_deinit(&c);
}

struct order {
    uint64_t next; /* sequence */
    uint32_t refused;
};

static void note_order(void *arg, const struct ingest_result *result)
{
    struct order *o = arg;

    assert_int_equal(result->info.sequence, o->next);
    o->next++;
    o->refused += result->refusal != 0;
}

static void reports_come_in_the_order_of_the_calls(void **state)
{
    enum { CHUNKS = 40 };
    struct ingest_world *w = *state;
    struct order order = {.next = 1};

    for (uint64_t i = 1; i <= CHUNKS; i++) {
        struct chunk c = world_chunk(w, i);
        struct blob b;

        assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &b), ST_OK);
        assert_int_equal(ingest_chunk(w->ingest, i % 3 == 0 ? "web-2" : WORLD_HOST, blob_slice(&b),
                                      (struct wall){WORLD_NOW}, note_order, &order),
                         ST_OK);
        blob_deinit(&b);
        chunk_deinit(&c);
    }
    while (order.next <= CHUNKS)
        world_wait(w);
    assert_int_equal(order.refused, CHUNKS / 3);
    assert_int_equal(ingest_read_counters(w->ingest).chunks, CHUNKS - CHUNKS / 3);
}

static uint32_t count_binaries(const struct chunk *c, const struct build_id *but)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < c->dictionary.binary_count; i++) {
        const struct build_id *id = &c->dictionary.binaries[i].id;

        count += id->length > 0 && (but == NULL || !build_id_equal(id, but));
    }
    return count;
}

static void binaries_without_symbols_are_named(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    struct build_id *known = &c.dictionary.binaries[0].id;
    struct outcome o;

    known->length = BUILD_ID_BYTES;
    o = world_offer(w, WORLD_HOST, &c);
    assert_int_equal(o.result.new_binary_count, count_binaries(&c, NULL));
    assert_true(build_id_equal(&o.new_binaries[0], known));

    world_put(w, STORE_SYMBOLS, (struct slice){known->bytes, known->length},
              (struct slice){(const uint8_t *)"table", 5});
    c.info.sequence = 2;
    o = world_offer(w, WORLD_HOST, &c);
    assert_int_equal(o.result.new_binary_count, count_binaries(&c, known));
    for (uint32_t i = 0; i < o.result.new_binary_count; i++)
        assert_false(build_id_equal(&o.new_binaries[i], known));
    chunk_deinit(&c);
}

/* A map that is full looks like a full dictionary at first. It must not cost a name, or a sample;
 * nor does it last: only an open view keeps the map from growing. */
static void a_store_without_room_puts_chunks_off_and_takes_them_later(void **state)
{
    enum { ROOM = 256 << 10, CHUNKS = 100 };
    struct ingest_world *w = *state;
    enum status st = ST_OK;
    uint64_t sequence = 0, taken = 0;
    struct store_view *v;

    world_reopen_with(w, ROOM, (struct dictionary_limits){0});
    assert_int_equal(store_view_open(w->store, &v), ST_OK);
    while (st == ST_OK && sequence < CHUNKS) {
        struct chunk c = world_chunk(w, ++sequence);

        st = world_offer(w, WORLD_HOST, &c).result.status;
        taken += st == ST_OK;
        chunk_deinit(&c);
    }
    assert_int_equal(st, ST_NO_SPACE);
    assert_int_equal(store_read_counters(w->store).chunks, taken);
    assert_int_equal(ingest_read_counters(w->ingest).chunks, taken);

    store_view_close(v);
    for (; sequence <= CHUNKS; sequence++) {
        struct chunk c = world_chunk(w, sequence);

        assert_int_equal(world_offer(w, WORLD_HOST, &c).result.status, ST_OK);
        chunk_deinit(&c);
    }
    assert_int_equal(store_read_counters(w->store).chunks, CHUNKS);
    assert_int_equal(ingest_read_counters(w->ingest).folded_samples, 0);
}

static enum status add_samples(void *arg, const struct ledger_row *row, struct slice stored)
{
    struct chunk c;

    (void)row;
    assert_int_equal(chunk_decode(stored, CHUNK_STORED, &c, NULL), ST_OK);
    *(uint64_t *)arg += c.samples.sample_count;
    chunk_deinit(&c);
    return ST_OK;
}

static void a_full_dictionary_costs_names_and_says_so(void **state)
{
    enum { CHUNKS = 10 };
    const struct dictionary_limits tight = {
        .strings = 1000, .binaries = 40, .frames = 300, .nodes = 200};
    struct ingest_world *w = *state;
    uint64_t sent = 0, stored = 0, binaries = 0;
    struct ingest_counters n;
    struct store_view *v;

    world_reopen_with(w, 0, tight);
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct chunk c = world_chunk(w, i + 1);
        struct outcome o = world_offer(w, WORLD_HOST, &c);

        assert_int_equal(o.result.status, ST_OK);
        sent += c.samples.sample_count;
        binaries += o.result.new_binary_count;
        chunk_deinit(&c);
    }
    n = ingest_read_counters(w->ingest);
    assert_int_equal(n.samples, sent);
    assert_in_range(n.folded_samples, 1, sent);
    assert_true(binaries <= tight.binaries); /* nobody is asked for symbols that nothing uses */
    assert_int_equal(store_view_open(w->store, &v), ST_OK);
    assert_int_equal(
        store_view_chunks(v, (struct wall){0}, (struct wall){UINT64_MAX}, add_samples, &stored),
        ST_OK);
    store_view_close(v);
    assert_int_equal(stored, sent);
}

#define world_test(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(what_is_reported_is_durable_and_says_the_same),
        world_test(a_chunk_that_came_before_is_a_duplicate),
        world_test(what_is_known_is_not_stored_again),
        world_test(a_damaged_chunk_is_refused_or_says_the_same),
        world_test(reports_come_in_the_order_of_the_calls),
        world_test(binaries_without_symbols_are_named),
        world_test(a_store_without_room_puts_chunks_off_and_takes_them_later),
        world_test(a_full_dictionary_costs_names_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
