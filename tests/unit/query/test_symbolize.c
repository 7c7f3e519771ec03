/* Names: late symbols name old samples, no address vanishes, and hostile names do no harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/query/demangle.h"
#include "tests/unit/query/history.h"

static int set_up(void **state)
{
    *state = history_new();
    return 0;
}

static int tear_down(void **state)
{
    history_free(*state);
    return 0;
}

/* The innermost function of a frame that has only one. */
static uint32_t function_of_frame(struct symbolizer *s, uint32_t frame)
{
    const struct frame_function *functions;
    uint32_t count;

    assert_int_equal(symbolizer_frame(s, frame, &functions, &count), ST_OK);
    assert_int_equal(count, 1);
    return functions[0].function;
}

/* The function of a stack's innermost frame. */
static const struct function *function_of(struct history *h, uint32_t leaf)
{
    uint32_t frame = dictionary_node(history_dictionary(h), leaf).frame;
    struct symbolizer *s = history_symbolizer(h);

    return symbolizer_get(s, function_of_frame(s, frame));
}

static void an_address_without_a_name_is_shown_as_such(void **state)
{
    struct history *h = *state;
    const struct function *f = function_of(h, STACK(h, "/usr/bin/burn+0x1a2b"));

    assert_string_equal(f->name, "burn+0x1a2b");
    assert_string_equal(f->binary, "burn");
    assert_false(f->named);
}

static void symbols_that_come_later_name_old_samples(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "/usr/bin/burn+0x1a2b");

    assert_string_equal(function_of(h, leaf)->name, "burn+0x1a2b");
    SYMBOLS(h, "/usr/bin/burn", {0x1a00, 0x100, "work"});
    assert_string_equal(function_of(h, leaf)->name, "work");
    assert_true(function_of(h, leaf)->named);
    SYMBOLS(h, "/usr/bin/burn", {0x1a00, 0x100, "replaced"});
    assert_string_equal(function_of(h, leaf)->name, "replaced");
}

static void addresses_of_a_function_are_one_function(void **state)
{
    struct history *h = *state;
    uint32_t a, b, first = STACK(h, "/b+0x10"), second = STACK(h, "/b+0x1f");
    struct symbolizer *s;

    SYMBOLS(h, "/b", {0x10, 0x10, "f"}, {0x20, 0x10, "g"});
    s = history_symbolizer(h);
    a = function_of_frame(s, dictionary_node(history_dictionary(h), first).frame);
    b = function_of_frame(s, dictionary_node(history_dictionary(h), second).frame);
    assert_int_equal(a, b);
    assert_int_equal(symbolizer_count(s), 1);
}

static void a_rebuilt_binary_keeps_its_functions_but_not_its_addresses(void **state)
{
    struct history *h = *state;
    uint32_t old_named = STACK(h, "/b+0x10"), old_address = STACK(h, "/b+0x90");
    uint32_t new_named, new_address;

    SYMBOLS(h, "/b", {0x10, 0x10, "f"});
    history_rebuild(h, 1);
    SYMBOLS(h, "/b", {0x50, 0x10, "f"});
    new_named = STACK(h, "/b+0x50");
    new_address = STACK(h, "/b+0x90");
    assert_ptr_equal(function_of(h, old_named)->name, function_of(h, new_named)->name);
    assert_ptr_not_equal(function_of(h, old_address), function_of(h, new_address));
}

static void kernel_frames_are_the_kernels(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "k+0x2000");

    assert_string_equal(function_of(h, leaf)->name, "[kernel]+0x2000");
    SYMBOLS(h, "[kernel]", {0x1f00, 0x200, "do_syscall_64"});
    assert_string_equal(function_of(h, leaf)->name, "do_syscall_64");
    assert_string_equal(function_of(h, leaf)->binary, "[kernel]");
    assert_int_equal(function_of(h, leaf)->kind, FRAME_KERNEL);
}

static void a_deleted_file_keeps_its_name(void **state)
{
    struct history *h = *state;

    assert_string_equal(function_of(h, STACK(h, "/opt/app (deleted)+0x5"))->binary, "app");
}

static void frames_named_on_the_host_keep_their_names(void **state)
{
    struct history *h = *state;
    const struct function *f = function_of(h, STACK(h, "py::handler:/app.py"));

    assert_string_equal(f->name, "py::handler:/app.py");
    assert_string_equal(f->binary, "");
    assert_int_equal(f->kind, FRAME_NAMED);
    assert_int_equal(function_of(h, STACK(h, "[truncated]"))->kind, FRAME_MARK);
}

static void a_frame_that_is_not_there_is_no_crash(void **state)
{
    struct symbolizer *s = history_symbolizer(*state);

    assert_string_equal(symbolizer_get(s, function_of_frame(s, 4711))->name, "[unknown]");
}

static void control_characters_do_not_get_out(void **state)
{
    struct history *h = *state;
    const struct function *f = function_of(h, STACK(h, "evil\nname\x1b[31m"));

    assert_string_equal(f->name, "evil?name?[31m");
}

static void cpp_and_rust_names_are_readable(void **state)
{
    static const char *const names[][2] = {
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
        {"_ZN4core3fmt9Formatter3pad17h1b2c3d4e5f607182E", "core::fmt::Formatter::pad"},
        {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        {"_ZN3foo3barEv.cold", "foo::bar"},
        {"_ZN3foo3barEi", "foo::bar"}, /* overloads share a row ... */
        {"_Z3maxIiET_S0_S0_", "max<int>"}, /* ... instances of a template do not */
        {"_Z3maxIdET_S0_S0_", "max<double>"},
        {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()"},
        {"_ZNK1acv1bEv", "a::operator b"},
        {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>"},
    };
    char text[DEMANGLE_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(demangle(names[i][0], text));
        assert_string_equal(text, names[i][1]);
    }
    assert_false(demangle("main", text));
    assert_false(demangle("_Zebra", text));
    assert_false(demangle("_start", text));
    assert_false(demangle("", text));
}

/* f<p<int, int>, p<that, that>, ...>: every argument names the one before it twice, so that 450
 * bytes stand for 2^33 words. */
static void a_name_that_explodes_is_left_as_it_is(void **state)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char mangled[600] = "_Z1fI1pIiiE", text[DEMANGLE_TEXT_MAX];
    size_t length = strlen(mangled);

    (void)state;
    for (int i = 1; i < 34; i++)
        length += (size_t)snprintf(mangled + length, sizeof(mangled) - length, "S0_IS%c_S%c_E",
                                   digits[i], digits[i]);
    (void)snprintf(mangled + length, sizeof(mangled) - length, "Evv");
    assert_false(demangle(mangled, text));
    length = strlen("_Z1fI1pIiiE") + 2 * strlen("S0_IS1_S1_E");
    (void)snprintf(mangled + length, sizeof(mangled) - length, "Evv");
    assert_true(demangle(mangled, text)); /* the same in small */
    assert_non_null(strstr(text, "p<p<p<int, int>, p<int, int> >, p<p<int, int>, p<int, int> > >"));
}

/* As long as a name may be, and nested as deep as that allows: no crash, and no time to speak of.
 */
static void long_hostile_names_do_no_harm(void **state)
{
    static const struct {
        const char *start, *repeated;
    } names[] = {
        {"_Z", "N1a"},     {"_Z1f", "P"},        {"_Z1fI", "IS_E"},   {"_Z", "ZN"},
        {"_Z1f", "DpT_"},  {"_Z", "L_Z"},        {"_RINvC1a1b", "T"}, {"_R", "NvNv"},
        {"_RNvC1a", "B_"}, {"_Z1fI", "XszLi1E"},
    };
    char mangled[SYMTAB_NAME_MAX + 1], text[DEMANGLE_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t length = strlen(names[i].start), step = strlen(names[i].repeated);

        memcpy(mangled, names[i].start, length);
        for (; length + step < sizeof(mangled); length += step)
            memcpy(mangled + length, names[i].repeated, step);
        mangled[length] = '\0';
        if (demangle(mangled, text))
            assert_in_range(strlen(text), 1, DEMANGLE_TEXT_MAX - 1);
    }
}

/* ---- the cache ---- */

static void equal_tables_are_decoded_once(void **state)
{
    struct history *h = *state;
    uint32_t leaf = STACK(h, "/b+0x10");

    SYMBOLS(h, "/b", {0x10, 0x10, "f"});
    (void)function_of(h, leaf);
    (void)STACK(h, "/other+0x1"); /* a new view and a new symbolizer */
    (void)function_of(h, leaf);
    assert_int_equal(symbol_cache_read_counters(history_cache(h)).loads, 1);
    assert_int_equal(symbol_cache_read_counters(history_cache(h)).hits, 1);
}

static struct build_id binary_id(struct history *h, const char *frame)
{
    const struct dictionary *d;
    uint32_t leaf = history_stack(h, &frame, 1);

    d = history_dictionary(h);
    return dictionary_binary(d, dictionary_frame(d, dictionary_node(d, leaf).frame)->binary)->id;
}

static void the_least_recently_used_table_goes_first(void **state)
{
    struct history *h = *state;
    struct build_id a = binary_id(h, "/a+0x1"), b = binary_id(h, "/b+0x1");
    struct symbol_cache_entry *first, *second;
    struct symbol_cache *c;
    size_t one;

    SYMBOLS(h, "/a", {0x10, 0x10, "f"});
    SYMBOLS(h, "/b", {0x10, 0x10, "f"});
    assert_int_equal(symbol_cache_hold(history_cache(h), history_view(h), &a, &first), ST_OK);
    one = symbol_cache_read_counters(history_cache(h)).bytes;
    symbol_cache_release(history_cache(h), first);

    assert_int_equal(symbol_cache_new(one, &c), ST_OK); /* room for one */
    assert_int_equal(symbol_cache_hold(c, history_view(h), &a, &first), ST_OK);
    assert_int_equal(symbol_cache_hold(c, history_view(h), &b, &second), ST_OK);
    assert_int_equal(symbol_cache_read_counters(c).tables, 2); /* both are held */
    symbol_cache_release(c, second);
    symbol_cache_release(c, first);
    assert_int_equal(symbol_cache_read_counters(c).tables, 1);
    assert_int_equal(symbol_cache_read_counters(c).evictions, 1);
    symbol_cache_free(c);
}

static void a_table_that_is_not_there_is_asked_for_again(void **state)
{
    struct history *h = *state;
    struct build_id id = binary_id(h, "/b+0x1");
    struct symbol_cache_entry *e;

    assert_int_equal(symbol_cache_hold(history_cache(h), history_view(h), &id, &e), ST_NOT_FOUND);
    SYMBOLS(h, "/b", {0x10, 0x10, "f"});
    assert_int_equal(symbol_cache_hold(history_cache(h), history_view(h), &id, &e), ST_OK);
    symbol_cache_release(history_cache(h), e);
}

enum { THREADS = 4, TURNS = 200 };

struct worker {
    pthread_t thread;
    struct symbol_cache *cache;
    struct store_view *view;
    struct build_id ids[2];
    uint32_t wrong;
};

static void *hold_and_look(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < TURNS; i++) {
        struct symbol_cache_entry *e = NULL;
        const char *name;

        if (symbol_cache_hold(w->cache, w->view, &w->ids[i % 2], &e) != ST_OK) {
            w->wrong++;
            continue;
        }
        name = symtab_find(symbol_cache_table(e), 0x15);
        w->wrong += name == NULL || strcmp(name, i % 2 == 0 ? "even" : "odd") != 0;
        symbol_cache_release(w->cache, e);
    }
    return NULL;
}

/* The cache has room for nothing that is not held, so that tables come and go all the time. */
static void threads_share_tables(void **state)
{
    struct history *h = *state;
    struct worker workers[THREADS];
    struct build_id even = binary_id(h, "/even+0x1"), odd = binary_id(h, "/odd+0x1");
    struct symbol_cache *c;

    SYMBOLS(h, "/even", {0x10, 0x10, "even"});
    SYMBOLS(h, "/odd", {0x10, 0x10, "odd"});
    assert_int_equal(symbol_cache_new(0, &c), ST_OK);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.cache = c, .ids = {even, odd}};
        workers[i].view = history_own_view(h);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, hold_and_look, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_int_equal(workers[i].wrong, 0);
        store_view_close(workers[i].view);
    }
    assert_int_equal(symbol_cache_read_counters(c).bytes, 0);
    symbol_cache_free(c);
}

int main(void)
{
#define CLAIM(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CLAIM(an_address_without_a_name_is_shown_as_such),
        CLAIM(symbols_that_come_later_name_old_samples),
        CLAIM(addresses_of_a_function_are_one_function),
        CLAIM(a_rebuilt_binary_keeps_its_functions_but_not_its_addresses),
        CLAIM(kernel_frames_are_the_kernels),
        CLAIM(a_deleted_file_keeps_its_name),
        CLAIM(frames_named_on_the_host_keep_their_names),
        CLAIM(a_frame_that_is_not_there_is_no_crash),
        CLAIM(control_characters_do_not_get_out),
        cmocka_unit_test(cpp_and_rust_names_are_readable),
        cmocka_unit_test(a_name_that_explodes_is_left_as_it_is),
        cmocka_unit_test(long_hostile_names_do_no_harm),
        CLAIM(equal_tables_are_decoded_once),
        CLAIM(the_least_recently_used_table_goes_first),
        CLAIM(a_table_that_is_not_there_is_asked_for_again),
        CLAIM(threads_share_tables),
    };

    return cmocka_run_group_tests_name("symbolize", tests, NULL, NULL);
}
