/* Chunks that ingest refuses: in words that name the value and the rule, and without a trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/store/ingest_world.h"

static void assert_nothing_stored(struct ingest_world *w)
{
    struct store_counters n = store_read_counters(w->store);

    assert_int_equal(n.chunks, 0);
    assert_int_equal(n.strings + n.binaries + n.frames + n.nodes, 0);
    assert_int_equal(ingest_read_counters(w->ingest).chunks, 0);
}

static void assert_refused(struct ingest_world *w, const struct outcome *o,
                           enum refusal_reason reason, const char *words)
{
    assert_int_not_equal(o->result.status, ST_OK);
    assert_int_equal(o->result.refusal, reason);
    if (strstr(o->result.text, words) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", o->result.text, words);
    assert_int_equal(o->result.new_binary_count, 0);
    assert_true(ingest_read_counters(w->ingest).refused[reason] > 0);
}

static void a_chunk_of_nobody_we_know_is_refused(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    char id[ID128_TEXT_MAX];
    struct outcome o;

    c.info.profiler = id128_random();
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_UNKNOWN_PROFILER, id128_format(c.info.profiler, id));
    assert_nothing_stored(w);
    chunk_deinit(&c);
}

static void a_chunk_of_another_host_is_refused(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    struct outcome o = world_offer(w, "web-2", &c);

    assert_refused(w, &o, REFUSAL_NOT_YOURS, "web-2");
    assert_nothing_stored(w);
    chunk_deinit(&c);
}

static void a_chunk_of_another_agent_life_is_refused(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    struct outcome o;

    c.info.incarnation = 0xabc;
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_NOT_YOURS, "0000000000000abc");
    assert_nothing_stored(w);
    chunk_deinit(&c);
}

static void a_chunk_of_another_event_is_refused(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    struct outcome o;

    c.info.event = EVENT_OFFCPU;
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_MALFORMED, "cpu, not offcpu");
    assert_nothing_stored(w);
    chunk_deinit(&c);
}

/* By the coordinator's clock: an offset may carry a window to either side. */
static void move_window(struct chunk *c, uint64_t end_ns)
{
    c->info.clock_offset_ns = -(int64_t)(90 * NS_PER_S);
    c->info.wall_start.ns = end_ns - (c->info.end.ns - c->info.start.ns) + 90 * NS_PER_S;
}

static void a_window_outside_of_its_profilers_life_is_refused(void **state)
{
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    const uint64_t length = c.info.end.ns - c.info.start.ns;
    const uint64_t latest = WORLD_NOW + INGEST_CLOCK_SLACK_NS;
    const uint64_t earliest = WORLD_ASSIGNED - INGEST_CLOCK_SLACK_NS + length;
    struct outcome o;

    move_window(&c, latest + 1);
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_MALFORMED, "in the future");
    move_window(&c, earliest - 1);
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_MALFORMED, "before its profiler was assigned");
    c.info.wall_start.ns = 0; /* a host without a clock */
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_MALFORMED, "before its profiler was assigned");
    assert_nothing_stored(w);

    move_window(&c, latest);
    assert_int_equal(world_offer(w, WORLD_HOST, &c).result.status, ST_OK);
    move_window(&c, earliest);
    c.info.sequence = 2;
    assert_int_equal(world_offer(w, WORLD_HOST, &c).result.status, ST_OK);
    chunk_deinit(&c);
}

static void a_sequence_that_cannot_have_been_reached_is_refused(void **state)
{
    const uint64_t most =
        (WORLD_NOW - WORLD_ASSIGNED) / INGEST_CHUNK_NS_MIN + INGEST_SEQUENCE_SPARE;
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    struct outcome o;

    c.info.sequence = UINT64_MAX;
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_MALFORMED, "sequence 18446744073709551615");
    c.info.sequence = most + 1;
    o = world_offer(w, WORLD_HOST, &c);
    assert_refused(w, &o, REFUSAL_MALFORMED, "at most 7000");
    assert_nothing_stored(w);
    c.info.sequence = most;
    assert_int_equal(world_offer(w, WORLD_HOST, &c).result.status, ST_OK);
    chunk_deinit(&c);
}

static void what_is_no_chunk_is_refused_and_leaves_nothing(void **state)
{
    enum { TRIES = 200, NOISE = 4096 };
    struct ingest_world *w = *state;
    struct chunk c = world_chunk(w, 1);
    uint8_t noise[NOISE];
    struct outcome o;
    struct blob b;

    assert_int_equal(chunk_encode(&c, CHUNK_WIRE, &b), ST_OK);
    o = world_offer_bytes(w, WORLD_HOST, (struct slice){NULL, 0});
    assert_refused(w, &o, REFUSAL_MALFORMED, "cannot be read: ");
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t cut = rng_below(&w->rng, (uint32_t)b.length);

        o = world_offer_bytes(w, WORLD_HOST, (struct slice){b.bytes, cut});
        assert_int_not_equal(o.result.refusal, 0);
        for (uint32_t k = 0; k < NOISE; k++)
            noise[k] = (uint8_t)rng_u64(&w->rng);
        memcpy(noise, b.bytes, rng_below(&w->rng, 64)); /* it may begin well */
        o = world_offer_bytes(w, WORLD_HOST, (struct slice){noise, NOISE});
        assert_int_not_equal(o.result.refusal, 0);
        assert_true(strlen(o.result.text) > strlen("the chunk cannot be read: "));
    }
    assert_nothing_stored(w);
    assert_int_equal(world_offer_bytes(w, WORLD_HOST, blob_slice(&b)).result.status, ST_OK);
    blob_deinit(&b);
    chunk_deinit(&c);
}

static void note_call(void *arg, const struct ingest_result *result)
{
    (void)result;
    (*(uint32_t *)arg)++;
}

static void what_is_over_the_limit_is_not_copied(void **state)
{
    struct ingest_world *w = *state;
    const uint8_t byte = 0;
    uint32_t calls = 0;

    assert_int_equal(ingest_chunk(w->ingest, WORLD_HOST,
                                  (struct slice){&byte, CHUNK_PACKED_MAX + 1},
                                  (struct wall){WORLD_NOW}, note_call, &calls),
                     ST_TOO_BIG);
    assert_int_equal(store_waiting_bytes(w->store), 0);
    assert_int_equal(calls, 0);
}

#define world_test(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        world_test(a_chunk_of_nobody_we_know_is_refused),
        world_test(a_chunk_of_another_host_is_refused),
        world_test(a_chunk_of_another_agent_life_is_refused),
        world_test(a_chunk_of_another_event_is_refused),
        world_test(a_window_outside_of_its_profilers_life_is_refused),
        world_test(a_sequence_that_cannot_have_been_reached_is_refused),
        world_test(what_is_no_chunk_is_refused_and_leaves_nothing),
        world_test(what_is_over_the_limit_is_not_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
