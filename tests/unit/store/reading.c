#include "tests/unit/store/reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *text_of(const struct reading *r, uint32_t id)
{
    if (id == CHUNK_NO_PARENT)
        return "";
    return r->store != NULL ? dictionary_string(r->store, id) : r->chunk->dictionary.strings[id];
}

static struct chunk_node node_of(const struct reading *r, uint32_t id)
{
    return r->store != NULL ? dictionary_node(r->store, id) : r->chunk->dictionary.nodes[id];
}

static const struct chunk_frame *frame_of(const struct reading *r, uint32_t id)
{
    return r->store != NULL ? dictionary_frame(r->store, id) : &r->chunk->dictionary.frames[id];
}

static const struct chunk_binary *binary_of(const struct reading *r, uint32_t id)
{
    return r->store != NULL ? dictionary_binary(r->store, id) : &r->chunk->dictionary.binaries[id];
}

static void assert_same_text(const struct reading *a, uint32_t id_a, const struct reading *b,
                             uint32_t id_b)
{
    assert_string_equal(text_of(a, id_a), text_of(b, id_b));
    assert_int_equal(id_a == CHUNK_NO_PARENT, id_b == CHUNK_NO_PARENT);
}

static void assert_same_frame(const struct reading *a, uint32_t id_a, const struct reading *b,
                              uint32_t id_b)
{
    const struct chunk_frame *f = frame_of(a, id_a), *g = frame_of(b, id_b);

    assert_non_null(g);
    assert_int_equal(f->kind, g->kind);
    assert_int_equal(f->offset, g->offset);
    assert_same_text(a, f->name, b, g->name);
    if (f->binary != CHUNK_NO_PARENT) {
        const struct chunk_binary *x = binary_of(a, f->binary), *y = binary_of(b, g->binary);

        assert_non_null(y);
        assert_true(build_id_equal(&x->id, &y->id));
        assert_same_text(a, x->path, b, y->path);
    }
}

static void assert_same_stack(const struct reading *a, uint32_t leaf_a, const struct reading *b,
                              uint32_t leaf_b)
{
    while (leaf_a != CHUNK_NO_PARENT) {
        struct chunk_node n = node_of(a, leaf_a), m = node_of(b, leaf_b);

        assert_same_frame(a, n.frame, b, m.frame);
        leaf_a = n.parent;
        leaf_b = m.parent;
        assert_int_equal(leaf_a == CHUNK_NO_PARENT, leaf_b == CHUNK_NO_PARENT);
    }
}

static void assert_same_processes(const struct reading *a, const struct reading *b)
{
    const struct chunk_samples *s = &a->chunk->samples, *t = &b->chunk->samples;

    assert_int_equal(s->process_count, t->process_count);
    for (uint32_t i = 0; i < s->process_count; i++) {
        assert_int_equal(s->processes[i].pid, t->processes[i].pid);
        assert_int_equal(s->processes[i].start_ns, t->processes[i].start_ns);
        assert_int_equal(s->processes[i].label_count, t->processes[i].label_count);
        assert_same_text(a, s->processes[i].comm, b, t->processes[i].comm);
    }
    assert_int_equal(s->label_count, t->label_count);
    for (uint32_t i = 0; i < s->label_count; i++) {
        assert_same_text(a, s->labels[i].key, b, t->labels[i].key);
        assert_same_text(a, s->labels[i].value, b, t->labels[i].value);
    }
    assert_int_equal(s->thread_count, t->thread_count);
    for (uint32_t i = 0; i < s->thread_count; i++) {
        assert_int_equal(s->threads[i].process, t->threads[i].process);
        assert_int_equal(s->threads[i].tid, t->threads[i].tid);
        assert_same_text(a, s->threads[i].name, b, t->threads[i].name);
    }
}

void reading_assert_same(const struct reading *a, const struct reading *b)
{
    const struct chunk_samples *s = &a->chunk->samples, *t = &b->chunk->samples;

    assert_int_equal(a->chunk->info.ledger.delivered, b->chunk->info.ledger.delivered);
    assert_int_equal(a->chunk->info.period_ns, b->chunk->info.period_ns);
    assert_same_processes(a, b);
    assert_int_equal(s->group_count, t->group_count);
    for (uint32_t i = 0; i < s->group_count; i++) {
        assert_int_equal(s->groups[i].thread, t->groups[i].thread);
        assert_int_equal(s->groups[i].count, t->groups[i].count);
        assert_same_stack(a, s->groups[i].leaf, b, t->groups[i].leaf);
    }
    assert_int_equal(s->sample_count, t->sample_count);
    if (s->sample_count > 0)
        assert_memory_equal(s->ticks, t->ticks, s->sample_count * sizeof(*s->ticks));
}
