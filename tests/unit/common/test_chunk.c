/* chunk: golden bytes, round trips in both forms, and nothing written that breaks a rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/chunk.h"
#include "tests/support/chunk_maker.h"
#include "tests/support/golden_chunk.h"
#include "tests/support/hex.h"

/* ---- helpers ---- */

static struct blob encode(const struct chunk *c, enum chunk_form form)
{
    struct blob packed = {0};

    assert_int_equal(chunk_encode(c, form, &packed), ST_OK);
    return packed;
}

/* ---- golden bytes ---- */

static void the_plain_bytes_are_the_golden_ones(void **state)
{
    struct chunk c = golden_chunk();
    struct blob packed = encode(&c, CHUNK_WIRE), plain = {0};

    (void)state;
    assert_int_equal(decompress_blob(blob_slice(&packed), CHUNK_PLAIN_MAX, &plain), ST_OK);
    assert_true(hex_equal(blob_slice(&plain), golden_chunk_plain));
    blob_deinit(&plain);
    blob_deinit(&packed);
    chunk_deinit(&c);
}

static void the_stored_form_is_the_golden_one_without_its_dictionary(void **state)
{
    struct chunk c = golden_chunk();
    struct blob packed = encode(&c, CHUNK_STORED), plain = {0}, golden = {0};
    const uint8_t *dictionary, *samples;

    (void)state;
    golden = hex_bytes(golden_chunk_plain);
    dictionary = memmem(golden.bytes, golden.length, "\x03\x84\x01\x92", 4);
    samples = memmem(golden.bytes, golden.length, "\x04\x85\x01\x93", 4);
    assert_non_null(dictionary);
    assert_non_null(samples);
    golden.bytes[0] = 0x83;
    memmove(golden.bytes + (dictionary - golden.bytes), samples,
            golden.length - (size_t)(samples - golden.bytes));
    golden.length -= (size_t)(samples - dictionary);

    assert_int_equal(decompress_blob(blob_slice(&packed), CHUNK_PLAIN_MAX, &plain), ST_OK);
    assert_int_equal(plain.length, golden.length);
    assert_memory_equal(plain.bytes, golden.bytes, golden.length);
    blob_deinit(&golden);
    blob_deinit(&plain);
    blob_deinit(&packed);
    chunk_deinit(&c);
}

static void the_golden_frame_is_read(void **state)
{
    struct blob packed = hex_bytes(golden_chunk_packed);
    struct chunk c = {0};
    const char *why = "";

    (void)state;
    assert_int_equal(chunk_decode(blob_slice(&packed), CHUNK_WIRE, &c, &why), ST_OK);
    assert_int_equal(c.info.sequence, 7);
    assert_true(c.info.final);
    assert_int_equal(c.info.end.ns, 15 * NS_PER_S);
    assert_int_equal(c.info.clock_offset_ns, -1500);
    assert_true(c.info.inclusion == 0.5);
    assert_int_equal(c.info.ledger.lost[LOSS_KERNEL], 2);
    assert_int_equal(walks_sum(&c.info.walks), 0); /* older than the ends of walks */
    assert_int_equal(c.info.cost.kernel_map_bytes, 7);
    assert_string_equal(c.dictionary.strings[5], "gr\xc3\xbc\xc3\x9f");
    assert_int_equal(c.dictionary.binaries[1].id.length, 0);
    assert_int_equal(c.dictionary.frames[2].offset, 0x2010);
    assert_int_equal(c.dictionary.nodes[2].parent, 1);
    assert_int_equal(c.samples.processes[1].comm, CHUNK_NO_PARENT);
    assert_int_equal(c.samples.threads[1].tid, 101);
    assert_int_equal(c.samples.groups[1].leaf, 3);
    assert_int_equal(c.samples.ticks[3], 100000);
    chunk_deinit(&c);
    chunk_deinit(&c);
    blob_deinit(&packed);
}

/* ---- what the info means ---- */

static void a_weight_makes_up_for_loss_and_probability(void **state)
{
    struct chunk_info info = {.period_ns = 1000, .inclusion = 0.5};

    (void)state;
    assert_true(chunk_sample_weight(&info) == 2000);
    info.ledger = (struct ledger){.delivered = 75, .idle = 900, .lost = {20, 0, 5}};
    assert_true(chunk_sample_weight(&info) == 2000 * 100 / 75.0);
}

static void the_window_is_told_in_the_coordinators_clock(void **state)
{
    struct chunk_info info = {
        .start = {5}, .end = {25}, .wall_start = {1000}, .clock_offset_ns = -300};

    (void)state;
    assert_int_equal(chunk_wall_start(&info).ns, 700);
    assert_int_equal(chunk_wall_end(&info).ns, 720);
    info.clock_offset_ns = 300;
    assert_int_equal(chunk_wall_start(&info).ns, 1300);
    info.clock_offset_ns = INT64_MIN;
    assert_int_equal(chunk_wall_start(&info).ns, 0);
}

/* ---- round trips ---- */

static void assert_same_dictionary(const struct chunk_dictionary *a,
                                   const struct chunk_dictionary *b)
{
    assert_int_equal(a->string_count, b->string_count);
    for (uint32_t i = 0; i < a->string_count; i++)
        assert_string_equal(a->strings[i], b->strings[i]);
    assert_int_equal(a->binary_count, b->binary_count);
    for (uint32_t i = 0; i < a->binary_count; i++) {
        assert_true(build_id_equal(&a->binaries[i].id, &b->binaries[i].id));
        assert_int_equal(a->binaries[i].path, b->binaries[i].path);
    }
    assert_int_equal(a->frame_count, b->frame_count);
    for (uint32_t i = 0; i < a->frame_count; i++) {
        assert_int_equal(a->frames[i].kind, b->frames[i].kind);
        assert_int_equal(a->frames[i].binary, b->frames[i].binary);
        assert_int_equal(a->frames[i].name, b->frames[i].name);
        assert_int_equal(a->frames[i].offset, b->frames[i].offset);
    }
    assert_int_equal(a->node_count, b->node_count);
    assert_memory_equal(a->nodes, b->nodes, a->node_count * sizeof(*a->nodes));
}

static void assert_same_samples(const struct chunk_samples *a, const struct chunk_samples *b)
{
    assert_int_equal(a->label_count, b->label_count);
    assert_memory_equal(a->labels, b->labels, a->label_count * sizeof(*a->labels));
    assert_int_equal(a->process_count, b->process_count);
    assert_memory_equal(a->processes, b->processes, a->process_count * sizeof(*a->processes));
    assert_int_equal(a->thread_count, b->thread_count);
    assert_memory_equal(a->threads, b->threads, a->thread_count * sizeof(*a->threads));
    assert_int_equal(a->group_count, b->group_count);
    assert_memory_equal(a->groups, b->groups, a->group_count * sizeof(*a->groups));
    assert_int_equal(a->sample_count, b->sample_count);
    assert_memory_equal(a->ticks, b->ticks, a->sample_count * sizeof(*a->ticks));
}

static void round_trip(const struct chunk *c, enum chunk_form form)
{
    struct blob first = encode(c, form), second;
    struct chunk back = {0};
    struct chunk_info info;
    const char *why = "";

    if (chunk_decode(blob_slice(&first), form, &back, &why) != ST_OK)
        fail_msg("%s", why);
    assert_same_samples(&c->samples, &back.samples);
    if (form == CHUNK_WIRE)
        assert_same_dictionary(&c->dictionary, &back.dictionary);
    else
        assert_null(back.dictionary.nodes);

    second = encode(&back, form); /* says all of the info again, bit by bit */
    assert_int_equal(first.length, second.length);
    assert_memory_equal(first.bytes, second.bytes, first.length);
    assert_int_equal(chunk_decode_info(blob_slice(&first), &info), ST_OK);
    assert_int_equal(info.sequence, c->info.sequence);
    assert_int_equal(info.cost.user_ns, c->info.cost.user_ns);
    blob_deinit(&second);
    blob_deinit(&first);
    chunk_deinit(&back);
}

static void chunks_of_any_shape_survive_in_both_forms(void **state)
{
    struct rng rng = rng_new();

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        struct chunk_shape shape = {
            .binaries = rng_below(&rng, 40),
            .frames = 1 + rng_below(&rng, 800),
            .stacks = 1 + rng_below(&rng, 200),
            .depth = 1 + rng_below(&rng, i % 10 == 0 ? CHUNK_DEPTH_MAX : 40),
            .processes = 1 + rng_below(&rng, 20),
            .threads = 1 + rng_below(&rng, 60),
            .samples = rng_below(&rng, 2000),
        };
        struct chunk c = chunk_make(shape, &rng);

        round_trip(&c, CHUNK_WIRE);
        round_trip(&c, CHUNK_STORED);
        chunk_deinit(&c);
    }
}

static void a_chunk_without_samples_survives(void **state)
{
    struct chunk c = golden_chunk(), empty = {.info = c.info};

    (void)state;
    empty.info.ledger.expected -= empty.info.ledger.delivered;
    empty.info.ledger.delivered = 0;
    empty.info.walks = (struct walks){0};
    round_trip(&empty, CHUNK_WIRE);
    round_trip(&empty, CHUNK_STORED);
    chunk_deinit(&c);
}

static void an_epitaph_tells_what_was_lost_and_when(void **state)
{
    struct chunk c = golden_chunk(), left = {0};
    struct blob packed = encode(&c, CHUNK_WIRE), epitaph = {0};

    (void)state;
    assert_int_equal(chunk_epitaph(blob_slice(&packed), &epitaph), ST_OK);
    assert_int_equal(chunk_decode(blob_slice(&epitaph), CHUNK_WIRE, &left, NULL), ST_OK);
    assert_int_equal(left.info.sequence, c.info.sequence);
    assert_int_equal(left.info.start.ns, c.info.start.ns);
    assert_int_equal(left.info.end.ns, c.info.end.ns);
    assert_true(left.info.final);
    assert_int_equal(left.info.ledger.expected, c.info.ledger.expected);
    assert_int_equal(left.info.ledger.delivered, 0);
    assert_int_equal(left.info.ledger.lost[LOSS_SPOOL], c.info.ledger.delivered);
    assert_int_equal(left.samples.sample_count, 0);
    assert_int_equal(chunk_epitaph((struct slice){(const uint8_t *)"no chunk", 8}, &epitaph),
                     ST_INVALID);
    chunk_deinit(&left);
    blob_deinit(&epitaph);
    blob_deinit(&packed);
    chunk_deinit(&c);
}

static void stored_indexes_are_the_stores_business(void **state)
{
    struct chunk c = golden_chunk();

    (void)state;
    c.samples.groups[0].leaf = CHUNK_NO_PARENT - 1;
    c.samples.processes[0].comm = CHUNK_NO_PARENT;
    c.samples.labels[0].key = UINT32_C(1) << 31;
    round_trip(&c, CHUNK_STORED);
    c.samples.groups[0].leaf = CHUNK_NO_PARENT;
    assert_int_equal(chunk_encode(&c, CHUNK_STORED, &(struct blob){0}), ST_INVALID);
    chunk_deinit(&c);
}

/* ---- rules, in what is written ---- */

static void assert_not_written(const struct chunk *c, enum status want)
{
    struct blob packed = {0};

    assert_int_equal(chunk_encode(c, CHUNK_WIRE, &packed), want);
    assert_null(packed.bytes);
}

static void labels_lie_process_by_process(void **state)
{
    struct chunk c = golden_chunk();

    (void)state;
    c.samples.processes[1].first_label = 0;
    assert_not_written(&c, ST_INVALID);
    c.samples.processes[1].label_count = 1;
    assert_not_written(&c, ST_INVALID); /* shared */
    c.samples.processes[1] = c.samples.processes[0];
    c.samples.processes[0].label_count = 0;
    round_trip(&c, CHUNK_WIRE);
    c.samples.processes[1].label_count = 0;
    assert_not_written(&c, ST_INVALID); /* left over */
    c.samples.processes[1].label_count = 65;
    assert_not_written(&c, ST_TOO_BIG);
    chunk_deinit(&c);
}

static void a_stack_ends_at_its_depth_limit(void **state)
{
    struct rng rng = rng_from(1);
    struct chunk_shape shape = {.frames = 1, .stacks = 1, .depth = CHUNK_DEPTH_MAX};
    struct chunk c = chunk_make(shape, &rng);

    (void)state;
    round_trip(&c, CHUNK_WIRE);
    chunk_deinit(&c);
    shape.depth++;
    c = chunk_make(shape, &rng);
    assert_not_written(&c, ST_TOO_BIG);
    chunk_deinit(&c);
}

static void tables_end_at_their_limits(void **state)
{
    struct chunk c = golden_chunk(), over;

    (void)state;
    over = c, over.dictionary.string_count = CHUNK_STRINGS_MAX + 1;
    assert_not_written(&over, ST_TOO_BIG);
    over = c, over.dictionary.binary_count = CHUNK_BINARIES_MAX + 1;
    assert_not_written(&over, ST_TOO_BIG);
    over = c, over.dictionary.frame_count = CHUNK_FRAMES_MAX + 1;
    assert_not_written(&over, ST_TOO_BIG);
    over = c, over.dictionary.node_count = CHUNK_NODES_MAX + 1;
    assert_not_written(&over, ST_TOO_BIG);
    over = c, over.samples.process_count = CHUNK_PROCESSES_MAX + 1;
    assert_not_written(&over, ST_TOO_BIG);
    over = c, over.samples.thread_count = CHUNK_THREADS_MAX + 1;
    assert_not_written(&over, ST_TOO_BIG);
    over = c, over.samples.sample_count = CHUNK_SAMPLES_MAX + 1;
    assert_not_written(&over, ST_TOO_BIG);
    chunk_deinit(&c);
}

static void strings_are_checked_before_they_leave(void **state)
{
    struct chunk c = golden_chunk();
    char *endless = calloc(1, CHUNK_STRING_BYTES_MAX + 2);

    (void)state;
    memset(endless, 'x', CHUNK_STRING_BYTES_MAX + 1);
    c.dictionary.strings[2] = endless;
    assert_not_written(&c, ST_TOO_BIG);
    endless[CHUNK_STRING_BYTES_MAX] = '\0';
    round_trip(&c, CHUNK_WIRE);
    endless[0] = '\xff';
    assert_not_written(&c, ST_INVALID);
    free(endless);
    chunk_deinit(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plain_bytes_are_the_golden_ones),
        cmocka_unit_test(the_stored_form_is_the_golden_one_without_its_dictionary),
        cmocka_unit_test(the_golden_frame_is_read),
        cmocka_unit_test(a_weight_makes_up_for_loss_and_probability),
        cmocka_unit_test(the_window_is_told_in_the_coordinators_clock),
        cmocka_unit_test(chunks_of_any_shape_survive_in_both_forms),
        cmocka_unit_test(a_chunk_without_samples_survives),
        cmocka_unit_test(an_epitaph_tells_what_was_lost_and_when),
        cmocka_unit_test(stored_indexes_are_the_stores_business),
        cmocka_unit_test(labels_lie_process_by_process),
        cmocka_unit_test(a_stack_ends_at_its_depth_limit),
        cmocka_unit_test(tables_end_at_their_limits),
        cmocka_unit_test(strings_are_checked_before_they_leave),
    };

    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
