/* Inlined functions: a frame is the chain of functions that it stands for, in every view alike. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coordinator/query/export.h"
#include "coordinator/query/flame.h"
#include "coordinator/query/rank.h"
#include "profile.pb-c.h"
#include "tests/unit/query/history.h"

typedef Perftools__Profiles__Profile Pprof;

/* /bin/app: main at 0x100; from 0x110 on `mid` is inlined into it, and `leaf` into that. */
static void put_app(struct history *h)
{
    struct symtab t = {.sources = SYMTAB_FROM_SYMTAB | SYMTAB_FROM_DWARF};
    struct places *p = &t.places;
    uint32_t main_c, leaf_h, mid, leaf, mid_call, leaf_call;

    assert_int_equal(symtab_add(&t, 0x100, 0x100, "main"), ST_OK);
    assert_int_equal(places_add_text(p, "src/main.c", &main_c), ST_OK);
    assert_int_equal(places_add_text(p, "src/leaf.h", &leaf_h), ST_OK);
    assert_int_equal(places_add_text(p, "mid", &mid), ST_OK);
    assert_int_equal(places_add_text(p, "_ZN3foo4leafEv", &leaf), ST_OK);
    assert_int_equal(places_add_call(p, (struct place_call){0, mid, main_c, 11}, &mid_call), ST_OK);
    assert_int_equal(
        places_add_call(p, (struct place_call){mid_call, leaf, main_c, 22}, &leaf_call), ST_OK);
    assert_int_equal(places_add_span(p, (struct place_span){0x100, 0, main_c, 10}), ST_OK);
    assert_int_equal(places_add_span(p, (struct place_span){0x110, leaf_call, leaf_h, 33}), ST_OK);
    assert_int_equal(places_add_span(p, (struct place_span){0x120, 0, main_c, 12}), ST_OK);
    history_table(h, "/bin/app", &t);
}

static int set_up(void **state)
{
    struct history *h = history_new();

    put_app(h);
    *state = h;
    return 0;
}

static int tear_down(void **state)
{
    history_free(*state);
    return 0;
}

/* 300 samples in the inlined functions, 100 in what calls them; below both, main calls itself. */
static struct profile profile_of(struct history *h)
{
    uint32_t inlined = STACK(h, "start", "/bin/app+0x115", "/bin/app+0x118");
    uint32_t plain = STACK(h, "start", "/bin/app+0x105");
    struct history_chunk c = {
        .profiler = history_profiler(h, "a", NULL, 0, 10), .sequence = 1, .to = 10};

    CHUNK(h, c, {.leaf = inlined, .count = 300}, {.leaf = plain, .count = 100});
    return history_collect(h, 0, 600, NULL);
}

static void a_frame_is_its_functions_innermost_first(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "/bin/app+0x115"), count;
    uint32_t frame = dictionary_node(history_dictionary(h), leaf).frame;
    struct symbolizer *s = history_symbolizer(h);
    const struct frame_function *f;

    assert_int_equal(symbolizer_frame(s, frame, &f, &count), ST_OK);
    assert_int_equal(count, 3);
    assert_string_equal(symbolizer_get(s, f[0].function)->name, "foo::leaf");
    assert_string_equal(symbolizer_get(s, f[0].function)->file, "src/leaf.h");
    assert_string_equal(symbolizer_get(s, f[0].function)->binary, "app");
    assert_int_equal(f[0].line, 33);
    assert_string_equal(symbolizer_get(s, f[1].function)->name, "mid");
    assert_int_equal(f[1].line, 22);
    assert_string_equal(symbolizer_get(s, f[2].function)->name, "main");
    assert_int_equal(f[2].line, 11);
}

static const struct rank_row *row_of(const struct ranking *r, const char *name)
{
    for (uint32_t i = 0; i < r->row_count; i++)
        if (strcmp(r->rows[i].key[0], name) == 0)
            return &r->rows[i];
    fail_msg("there is no row %s", name);
    return NULL;
}

static void self_is_the_innermost_functions_and_total_counts_once_a_stack(void **state)
{
    struct history *h = *state;
    const enum rank_by by[RANK_DIMENSIONS_MAX] = {RANK_BY_FUNCTION};
    struct profile p = profile_of(h);
    struct ranking r;
    uint64_t self = 0;

    assert_int_equal(rank(&p, history_symbolizer(h), history_dictionary(h), by, 1, 0, &r), ST_OK);
    for (uint32_t i = 0; i < r.row_count; i++)
        self += r.rows[i].self_samples;
    assert_int_equal(self, 400);
    assert_int_equal(row_of(&r, "foo::leaf")->self_samples, 300);
    assert_int_equal(row_of(&r, "foo::leaf")->total_samples, 300); /* twice on each stack */
    assert_int_equal(row_of(&r, "mid")->self_samples, 0);
    assert_int_equal(row_of(&r, "mid")->total_samples, 300);
    assert_int_equal(row_of(&r, "main")->self_samples, 100);
    assert_int_equal(row_of(&r, "main")->total_samples, 400);
    assert_int_equal(r.naming.frames, 300 * 3 + 100 * 2); /* as many as were walked */
    assert_int_equal(r.naming.named, r.naming.frames);
    ranking_deinit(&r);
    profile_deinit(&p);
}

static void a_flame_graph_has_a_level_for_each(void **state)
{
    static const char *const path[] = {"start", "main", "mid",      "foo::leaf",
                                       "main",  "mid",  "foo::leaf"};
    struct history *h = *state;
    struct profile p = profile_of(h);
    struct flame f;
    uint32_t n = 0, depth = 0;

    assert_int_equal(flame_build(&p, NULL, history_symbolizer(h), history_dictionary(h), &f),
                     ST_OK);
    assert_int_equal(f.node_count, 1 + 7);
    for (n = 1; n < f.node_count; n++, depth++) { /* depth first, and here there is one path */
        assert_string_equal(symbolizer_get(history_symbolizer(h), f.function[n])->name,
                            path[depth]);
        assert_int_equal(f.parent[n], n - 1);
    }
    assert_true(f.self_a[7] > 2.9 * f.self_a[2] && f.self_a[7] < 3.1 * f.self_a[2]);
    flame_deinit(&f);
    profile_deinit(&p);
}

static struct blob export(struct history *h, enum export_format format)
{
    struct profile p = profile_of(h);
    struct blob b = {0};

    assert_int_equal(export_profile(&p, history_symbolizer(h), history_dictionary(h), format, &b),
                     ST_OK);
    profile_deinit(&p);
    return b;
}

static void texts_hold_the_expanded_stacks(void **state)
{
    struct blob collapsed = export(*state, EXPORT_COLLAPSED);
    char *text = strndup((const char *)collapsed.bytes, collapsed.length);

    assert_non_null(strstr(text, "start;main;mid;foo::leaf;main;mid;foo::leaf 3000000000\n"));
    assert_non_null(strstr(text, "start;main 1000000000\n"));
    free(text);
    blob_deinit(&collapsed);
}

static void speedscope_knows_the_source_file(void **state)
{
    struct blob b = export(*state, EXPORT_SPEEDSCOPE);
    char *text = strndup((const char *)b.bytes, b.length);

    assert_non_null(strstr(text, "{\"name\":\"foo::leaf\",\"file\":\"src/leaf.h\"}"));
    free(text);
    blob_deinit(&b);
}

static Pprof *unpack(const struct blob *b)
{
    static uint8_t plain[1 << 16];
    char path[] = "/tmp/fleetprof-inline-XXXXXX", command[64];
    int fd = mkstemp(path);
    FILE *pipe;
    size_t length;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, b->bytes, b->length), (ssize_t)b->length);
    close(fd);
    (void)snprintf(command, sizeof(command), "gzip -dc <%s", path);
    pipe = popen(command, "r"); /* NOLINT: our own command */
    length = fread(plain, 1, sizeof(plain), pipe);
    assert_int_equal(pclose(pipe), 0);
    unlink(path);
    return perftools__profiles__profile__unpack(NULL, length, plain);
}

static const char *text_of(const Pprof *p, int64_t number)
{
    return p->string_table[number];
}

/* "name file:line" of a location's line; functions are numbered in order. */
static void assert_line(const Pprof *p, const Perftools__Profiles__Line *l, const char *expected)
{
    const Perftools__Profiles__Function *f = p->function[l->function_id - 1];
    char text[256];

    (void)snprintf(text, sizeof(text), "%s %s:%d", text_of(p, f->name), text_of(p, f->filename),
                   (int)l->line);
    assert_string_equal(text, expected);
}

static void pprof_has_one_location_of_several_lines(void **state)
{
    struct blob b = export(*state, EXPORT_PPROF);
    Pprof *p = unpack(&b);
    const Perftools__Profiles__Location *leaf;

    blob_deinit(&b);
    assert_non_null(p);
    for (size_t i = 0; i < p->n_sample; i++)
        if (p->sample[i]->value[0] == 300) {
            assert_int_equal(p->sample[i]->n_location_id, 3); /* as many as were walked */
            leaf = p->location[p->sample[i]->location_id[0] - 1];
            assert_int_equal(leaf->n_line, 3);
            assert_line(p, leaf->line[0], "foo::leaf src/leaf.h:33");
            assert_line(p, leaf->line[1], "mid src/main.c:22");
            assert_line(p, leaf->line[2], "main src/main.c:11");
        } else {
            assert_int_equal(p->sample[i]->n_location_id, 2);
        }
    perftools__profiles__profile__free_unpacked(p, NULL);
}

/* What is inlined deeper than a chain may be long is cut in the middle, not at its ends. */
static void a_chain_is_bounded(void **state)
{
    enum { DEEP = PLACES_DEPTH_MAX };
    struct history *h = *state;
    struct symtab t = {0};
    uint32_t name, call = 0, count, leaf;
    const struct frame_function *f;
    struct symbolizer *s;
    char text[32];

    assert_int_equal(symtab_add(&t, 0x100, 0x100, "outermost"), ST_OK);
    for (int i = 0; i < DEEP; i++) {
        (void)snprintf(text, sizeof(text), "inlined_%d", i);
        assert_int_equal(places_add_text(&t.places, text, &name), ST_OK);
        assert_int_equal(places_add_call(&t.places,
                                         (struct place_call){.parent = call, .function = name},
                                         &call),
                         ST_OK);
    }
    assert_int_equal(places_add_span(&t.places, (struct place_span){0x100, call, 0, 0}), ST_OK);
    t.sources = SYMTAB_FROM_DWARF;
    history_table(h, "/bin/deep", &t);
    leaf = STACK(h, "/bin/deep+0x100");
    s = history_symbolizer(h);
    assert_int_equal(
        symbolizer_frame(s, dictionary_node(history_dictionary(h), leaf).frame, &f, &count), ST_OK);
    assert_int_equal(count, SYMBOLIZE_CHAIN_MAX);
    assert_string_equal(symbolizer_get(s, f[0].function)->name, "inlined_63");
    assert_string_equal(symbolizer_get(s, f[count - 1].function)->name, "outermost");
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(a_frame_is_its_functions_innermost_first),
        CLAIM(self_is_the_innermost_functions_and_total_counts_once_a_stack),
        CLAIM(a_flame_graph_has_a_level_for_each),
        CLAIM(texts_hold_the_expanded_stacks),
        CLAIM(speedscope_knows_the_source_file),
        CLAIM(pprof_has_one_location_of_several_lines),
        CLAIM(a_chain_is_bounded),
    };

    return cmocka_run_group_tests_name("inline", tests, NULL, NULL);
}
