/* What a full dictionary costs: names, never samples. The store's dictionary is played here, with
 * limits of a few entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/ingest/ingest.h"
#include "coordinator/ingest/intern.h"
#include "tests/support/chunk_maker.h"

enum { ENTRIES_MAX = 8192, PLENTY = ENTRIES_MAX };

/* ---- the dictionary, played ---- */

struct store_txn {
    const char *strings[ENTRIES_MAX];
    struct chunk_binary binaries[ENTRIES_MAX];
    struct chunk_frame frames[ENTRIES_MAX];
    struct chunk_node nodes[ENTRIES_MAX];
    uint32_t string_count, binary_count, frame_count, node_count;
    uint32_t strings_max, binaries_max, frames_max, nodes_max;
    uint32_t calls, failing_call; /* that call says ST_IO; 0: none does */
};

static enum status next_id(uint32_t *count, uint32_t max, uint32_t *out)
{
    if (*count == max)
        return ST_FULL;
    *out = (*count)++;
    return ST_OK;
}

static bool fails(struct store_txn *t)
{
    return ++t->calls == t->failing_call;
}

enum status store_txn_string(struct store_txn *t, const char *text, uint32_t *out)
{
    enum status st;

    if (fails(t))
        return ST_IO;
    for (uint32_t i = 0; i < t->string_count; i++) {
        if (strcmp(t->strings[i], text) == 0) {
            *out = i;
            return ST_OK;
        }
    }
    st = next_id(&t->string_count, t->strings_max, out);
    if (st == ST_OK)
        t->strings[*out] = text;
    return st;
}

enum status store_txn_binary(struct store_txn *t, const struct build_id *id, uint32_t path,
                             uint32_t *out)
{
    enum status st;

    if (fails(t))
        return ST_IO;
    st = next_id(&t->binary_count, t->binaries_max, out);
    if (st == ST_OK)
        t->binaries[*out] = (struct chunk_binary){*id, path};
    return st;
}

enum status store_txn_frame(struct store_txn *t, const struct chunk_frame *frame, uint32_t *out)
{
    enum status st;

    if (fails(t))
        return ST_IO;
    for (uint32_t i = 0; i < t->frame_count; i++) {
        const struct chunk_frame *f = &t->frames[i];

        if (f->kind == frame->kind && f->binary == frame->binary && f->name == frame->name &&
            f->offset == frame->offset) {
            *out = i;
            return ST_OK;
        }
    }
    st = next_id(&t->frame_count, t->frames_max, out);
    if (st == ST_OK)
        t->frames[*out] = *frame;
    return st;
}

enum status store_txn_node(struct store_txn *t, struct chunk_node node, uint32_t *out)
{
    enum status st;

    if (fails(t))
        return ST_IO;
    for (uint32_t i = 0; i < t->node_count; i++) {
        if (t->nodes[i].parent == node.parent && t->nodes[i].frame == node.frame) {
            *out = i;
            return ST_OK;
        }
    }
    st = next_id(&t->node_count, t->nodes_max, out);
    if (st == ST_OK)
        t->nodes[*out] = node;
    return st;
}

static struct store_txn *new_txn(void)
{
    struct store_txn *t = calloc(1, sizeof(*t));

    t->strings_max = t->binaries_max = t->frames_max = t->nodes_max = PLENTY;
    return t;
}

/* ---- one chunk: main (native) calls jit (named); 3 samples in main, 5 in jit ---- */

enum { MAIN_SAMPLES = 3, JIT_SAMPLES = 5 };

static void *copy(const void *rows, size_t bytes)
{
    return memcpy(malloc(bytes), rows, bytes);
}
#define COPY(rows) copy(rows, sizeof(rows))

static struct chunk two_frames(void)
{
    char *strings[] = {"/bin/work", "jit", "work", "env", "prod"};
    const struct chunk_binary binaries[] = {{{2, {1, 2}}, 0}};
    const struct chunk_frame frames[] = {{FRAME_NATIVE, 0, CHUNK_NO_PARENT, 0x10},
                                         {FRAME_NAMED, CHUNK_NO_PARENT, 1, 0}};
    const struct chunk_node nodes[] = {{CHUNK_NO_PARENT, 0}, {0, 1}};
    const struct chunk_label labels[] = {{3, 4}};
    const struct chunk_process processes[] = {{.pid = 1, .comm = 2, .label_count = 1}};
    const struct chunk_thread threads[] = {{.name = CHUNK_NO_PARENT}};
    const struct chunk_group groups[] = {{0, 0, MAIN_SAMPLES}, {1, 0, JIT_SAMPLES}};

    return (struct chunk){
        .dictionary = {.strings = COPY(strings),
                       .binaries = COPY(binaries),
                       .frames = COPY(frames),
                       .nodes = COPY(nodes),
                       .string_count = 5,
                       .binary_count = 1,
                       .frame_count = 2,
                       .node_count = 2},
        .samples = {.labels = COPY(labels),
                    .processes = COPY(processes),
                    .threads = COPY(threads),
                    .groups = COPY(groups),
                    .label_count = 1,
                    .process_count = 1,
                    .thread_count = 1,
                    .group_count = 2,
                    .sample_count = MAIN_SAMPLES + JIT_SAMPLES},
    };
}

static bool is_mark(const struct store_txn *t, uint32_t frame)
{
    return t->frames[frame].kind == FRAME_MARK &&
           strcmp(t->strings[t->frames[frame].name], INGEST_FULL_MARK) == 0;
}

static struct chunk_node leaf_of(const struct store_txn *t, const struct chunk *c, uint32_t group)
{
    return t->nodes[c->samples.groups[group].leaf];
}

/* ---- the claims ---- */

static void with_room_everything_keeps_its_name(void **state)
{
    struct store_txn *t = new_txn();
    struct chunk c = two_frames();
    uint32_t folded = 99;
    struct chunk_node jit;

    (void)state;
    assert_int_equal(intern_chunk(t, &c, &folded), ST_OK);
    assert_int_equal(folded, 0);
    jit = leaf_of(t, &c, 1);
    assert_string_equal(t->strings[t->frames[jit.frame].name], "jit");
    assert_int_equal(t->frames[t->nodes[jit.parent].frame].kind, FRAME_NATIVE);
    assert_int_equal(c.samples.groups[0].leaf, jit.parent);
    assert_string_equal(t->strings[c.samples.processes[0].comm], "work");
    assert_string_equal(t->strings[c.samples.labels[0].value], "prod");
    assert_int_equal(c.samples.threads[0].name, CHUNK_NO_PARENT);
    chunk_deinit(&c);
    free(t);
}

static void without_room_for_strings_names_become_the_mark(void **state)
{
    struct store_txn *t = new_txn();
    struct chunk c = two_frames();
    uint32_t folded;

    (void)state;
    t->strings_max = 2; /* the mark and the binary's path */
    assert_int_equal(intern_chunk(t, &c, &folded), ST_OK);
    assert_int_equal(folded, JIT_SAMPLES);
    assert_true(is_mark(t, leaf_of(t, &c, 1).frame));
    assert_false(is_mark(t, leaf_of(t, &c, 0).frame));
    assert_int_equal(leaf_of(t, &c, 1).parent, c.samples.groups[0].leaf); /* the caller is kept */
    assert_string_equal(t->strings[c.samples.processes[0].comm], INGEST_FULL_MARK);
    assert_string_equal(t->strings[c.samples.labels[0].key], INGEST_FULL_MARK);
    chunk_deinit(&c);
    free(t);
}

static void without_room_for_its_path_a_binary_is_still_itself(void **state)
{
    struct store_txn *t = new_txn();
    struct chunk c = two_frames();
    uint32_t folded;

    (void)state;
    t->strings_max = 1;
    assert_int_equal(intern_chunk(t, &c, &folded), ST_OK);
    assert_int_equal(folded, JIT_SAMPLES);
    assert_int_equal(t->binaries[0].id.length, 2);
    assert_string_equal(t->strings[t->binaries[0].path], INGEST_FULL_MARK);
    chunk_deinit(&c);
    free(t);
}

/* Its symbols would never be used, so nobody is to ask for them. */
static void a_binary_without_room_is_forgotten(void **state)
{
    struct store_txn *t = new_txn();
    struct chunk c = two_frames();
    uint32_t folded;

    (void)state;
    t->binaries_max = 0;
    assert_int_equal(intern_chunk(t, &c, &folded), ST_OK);
    assert_int_equal(c.dictionary.binaries[0].id.length, 0);
    assert_int_equal(folded, MAIN_SAMPLES + JIT_SAMPLES); /* both stacks went through it */
    assert_true(is_mark(t, leaf_of(t, &c, 0).frame));
    assert_false(is_mark(t, leaf_of(t, &c, 1).frame));
    chunk_deinit(&c);
    free(t);
}

static void a_frame_without_room_becomes_the_mark_where_it_stands(void **state)
{
    struct store_txn *t = new_txn();
    struct chunk c = two_frames();
    uint32_t folded;

    (void)state;
    t->frames_max = 2; /* the mark and main */
    assert_int_equal(intern_chunk(t, &c, &folded), ST_OK);
    assert_int_equal(folded, JIT_SAMPLES);
    assert_true(is_mark(t, leaf_of(t, &c, 1).frame));
    assert_int_equal(leaf_of(t, &c, 1).parent, c.samples.groups[0].leaf);
    chunk_deinit(&c);
    free(t);
}

static void a_stack_without_room_becomes_the_mark_alone(void **state)
{
    struct store_txn *t = new_txn();
    struct chunk c = two_frames();
    uint32_t folded;

    (void)state;
    t->nodes_max = 2; /* the mark and main */
    assert_int_equal(intern_chunk(t, &c, &folded), ST_OK);
    assert_int_equal(folded, JIT_SAMPLES);
    assert_true(is_mark(t, leaf_of(t, &c, 1).frame));
    assert_int_equal(leaf_of(t, &c, 1).parent, CHUNK_NO_PARENT);
    assert_false(is_mark(t, leaf_of(t, &c, 0).frame));
    chunk_deinit(&c);
    free(t);
}

static bool stack_has_mark(const struct store_txn *t, uint32_t node)
{
    for (; node != CHUNK_NO_PARENT; node = t->nodes[node].parent)
        if (is_mark(t, t->nodes[node].frame))
            return true;
    return false;
}

static void whatever_the_limits_no_sample_is_lost(void **state)
{
    enum { CHUNKS = 60 };
    struct rng rng = rng_new();
    const struct chunk_shape shape = {.binaries = 20,
                                      .frames = 100,
                                      .stacks = 40,
                                      .depth = 12,
                                      .processes = 4,
                                      .threads = 8,
                                      .samples = 400};

    (void)state;
    for (uint32_t i = 0; i < CHUNKS; i++) {
        struct store_txn *t = new_txn();
        struct chunk c = chunk_make(shape, &rng);
        const struct chunk_samples *s = &c.samples;
        uint32_t folded, marked = 0, samples = 0;

        t->strings_max = 1 + rng_below(&rng, 600);
        t->binaries_max = rng_below(&rng, 30);
        t->frames_max = 1 + rng_below(&rng, 120);
        t->nodes_max = 1 + rng_below(&rng, 600);
        assert_int_equal(intern_chunk(t, &c, &folded), ST_OK);
        for (uint32_t g = 0; g < s->group_count; g++) {
            assert_true(s->groups[g].leaf < t->node_count);
            samples += s->groups[g].count;
            marked += stack_has_mark(t, s->groups[g].leaf) ? s->groups[g].count : 0;
        }
        assert_int_equal(samples, shape.samples);
        assert_int_equal(folded, marked);
        for (uint32_t l = 0; l < s->label_count; l++)
            assert_true(s->labels[l].key < t->string_count && s->labels[l].value < t->string_count);
        chunk_deinit(&c);
        free(t);
    }
}

static void a_failure_of_the_store_is_passed_on_from_everywhere(void **state)
{
    enum { CALLS = 13 }; /* 3 for the mark, 5 strings, 1 binary, 2 frames, 2 nodes */

    (void)state;
    for (uint32_t failing = 1; failing <= CALLS + 1; failing++) {
        struct store_txn *t = new_txn();
        struct chunk c = two_frames();
        uint32_t folded = 99;

        t->failing_call = failing;
        assert_int_equal(intern_chunk(t, &c, &folded), failing <= CALLS ? ST_IO : ST_OK);
        assert_int_equal(folded, failing <= CALLS ? 99 : 0);
        chunk_deinit(&c);
        free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_room_everything_keeps_its_name),
        cmocka_unit_test(without_room_for_strings_names_become_the_mark),
        cmocka_unit_test(without_room_for_its_path_a_binary_is_still_itself),
        cmocka_unit_test(a_binary_without_room_is_forgotten),
        cmocka_unit_test(a_frame_without_room_becomes_the_mark_where_it_stands),
        cmocka_unit_test(a_stack_without_room_becomes_the_mark_alone),
        cmocka_unit_test(whatever_the_limits_no_sample_is_lost),
        cmocka_unit_test(a_failure_of_the_store_is_passed_on_from_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
