/* extract: binaries that real compilers made give their names and places, whole, stripped, packed
 * or with their debug information elsewhere; what is damaged or empty gives nothing. */
#include "common/symbols/extract.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/rng.h"
#include "tests/unit/symbols/workbench.h"

/* ---- names ---- */

static void a_whole_binary_gives_names_and_places(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_int_equal(workbench_extract("a", NULL, &t), ST_OK);
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_PLACES);
    assert_non_null(symbol_like(&t, "_Z4workRSt6vector"));
    symtab_deinit(&t);
}

static void a_stripped_binary_gives_what_it_exports(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_true(workbench_run("g++ -O2 -shared -fPIC -s -o lib.so a.cpp"));
    assert_int_equal(workbench_extract("lib.so", NULL, &t), ST_OK);
    assert_int_equal(t.sources, SYMTAB_FROM_DYNSYM);
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_EXPORTS);
    assert_non_null(symbol_like(&t, "_Z4workRSt6vector"));
    symtab_deinit(&t);
}

/* As Fedora's find-debuginfo does it. */
static void names_in_gnu_debugdata_are_found(void **state)
{
    struct symtab t = {0}, whole = {0};
    const struct symbol *work;

    (void)state;
    assert_true(
        workbench_run("objcopy -S --remove-section .gdb_index --keep-symbol=main "
                      "--keep-symbol=_Z4workRSt6vectorIiSaIiEE a.debug mini && xz -k mini && "
                      "objcopy --add-section .gnu_debugdata=mini.xz stripped packed"));
    assert_int_equal(workbench_extract("packed", NULL, &t), ST_OK);
    assert_true((t.sources & SYMTAB_FROM_DEBUGDATA) != 0);
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_FUNCTIONS);
    work = symbol_like(&t, "_Z4workRSt6vector");
    assert_non_null(work);
    assert_int_equal(workbench_extract("a", NULL, &whole), ST_OK);
    assert_int_equal(work->start, symbol_like(&whole, "_Z4workRSt6vector")->start);
    symtab_deinit(&whole);
    symtab_deinit(&t);
}

static void damaged_gnu_debugdata_names_nothing(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_true(workbench_run("head -c 300 /dev/urandom >noise && "
                              "objcopy --add-section .gnu_debugdata=noise stripped noisy"));
    if (workbench_extract("noisy", NULL, &t) == ST_OK)
        assert_int_equal(t.sources & SYMTAB_FROM_DEBUGDATA, 0);
    symtab_deinit(&t);
}

/* 64 bytes of xz that unpack to more than the limit. */
static void gnu_debugdata_that_unpacks_to_too_much_is_left_alone(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_true(workbench_run("head -c %u /dev/zero | xz >bomb && "
                              "objcopy --add-section .gnu_debugdata=bomb stripped bombed",
                              EXTRACT_DEBUGDATA_MAX + 1));
    if (workbench_extract("bombed", NULL, &t) == ST_OK)
        assert_int_equal(t.sources & SYMTAB_FROM_DEBUGDATA, 0);
    symtab_deinit(&t);
}

static void go_names_survive_stripping(void **state)
{
    static const char *const modes[] = {"exe", "pie"};

    (void)state;
    workbench_write("leaf.go", "package main\n"
                               "//go:noinline\n"
                               "func leaf(n int) int { return n * 3 }\n"
                               "func main() { println(leaf(7)) }\n");
    if (!workbench_run("go version"))
        skip();
    for (unsigned i = 0; i < 2; i++) {
        struct symtab t = {0}, whole = {0};
        const struct symbol *leaf;

        assert_true(workbench_run("export HOME=$PWD GOFLAGS=-mod=mod GO111MODULE=off; "
                                  "go build -buildmode=%s -o go-whole leaf.go && "
                                  "go build -buildmode=%s -ldflags='-s -w' -o go-bare leaf.go",
                                  modes[i], modes[i]));
        assert_int_equal(workbench_extract("go-bare", NULL, &t), ST_OK);
        assert_true((t.sources & SYMTAB_FROM_GOPCLNTAB) != 0);
        assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_FUNCTIONS);
        leaf = symbol_like(&t, "main.leaf");
        assert_non_null(leaf);
        assert_int_equal(workbench_extract("go-whole", NULL, &whole), ST_OK);
        assert_int_equal(leaf->start, symbol_like(&whole, "main.leaf")->start);
        symtab_deinit(&whole);
        symtab_deinit(&t);
    }
}

static void rust_names_come_as_the_linker_knows_them(void **state)
{
    struct symtab t = {0};

    (void)state;
    workbench_write("leaf.rs", "#[inline(never)] fn leaf(n: usize) -> usize { n * 3 }\n"
                               "fn main() { println!(\"{}\", leaf(std::env::args().count())); }\n");
    if (!workbench_run("rustc --version"))
        skip();
    assert_true(workbench_run("rustc -O -g -o rusty leaf.rs"));
    assert_int_equal(workbench_extract("rusty", NULL, &t), ST_OK);
    assert_non_null(symbol_like(&t, "4leaf"));
    assert_true((t.sources & SYMTAB_FROM_DWARF) != 0);
    symtab_deinit(&t);
}

static void a_static_pie_gives_its_names(void **state)
{
    struct symtab t = {0};

    (void)state;
    workbench_write("s.c",
                    "int leaf(int n) { return n * 3; }\nint main(int c) { return leaf(c); }\n");
    assert_true(workbench_run("gcc -O0 -g -static-pie -o static-pie s.c"));
    assert_int_equal(workbench_extract("static-pie", NULL, &t), ST_OK);
    assert_non_null(symbol_like(&t, "leaf"));
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_PLACES);
    symtab_deinit(&t);
}

static void a_name_of_any_length_is_cut(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_true(
        workbench_run("{ printf 'int f'; head -c 5000 /dev/zero | tr '\\0' x; "
                      "echo '(int n) { return n; } int main(void) { return 0; }'; } >long.c && "
                      "gcc -g -o long long.c"));
    assert_int_equal(workbench_extract("long", NULL, &t), ST_OK);
    assert_int_equal(strlen(t.text + symbol_like(&t, "fxxx")->name), SYMTAB_NAME_MAX);
    symtab_deinit(&t);
}

/* ---- separate debug files ---- */

static void expect_places_of_work(const struct symtab *t)
{
    const struct symbol *work = symbol_like(t, "_Z4workRSt6vector");
    struct place out[PLACES_DEPTH_MAX];

    assert_non_null(work);
    assert_int_equal(places_find(&t->places, work->start, out, PLACES_DEPTH_MAX), 1);
    assert_non_null(strstr(out[0].file, "a.cpp"));
    assert_in_range(out[0].line, 7, 8);
}

static void a_debug_file_is_found_by_its_build_id(void **state)
{
    struct symtab t = {0};
    const char *root;

    (void)state;
    root = workbench_path("root");
    assert_true(workbench_run("id=$(readelf -n a | sed -n 's/.*Build ID: //p') && "
                              "mkdir -p root/.build-id/${id%%${id#??}} && "
                              "cp a.debug root/.build-id/${id%%${id#??}}/${id#??}.debug"));
    assert_int_equal(workbench_extract("stripped", root, &t), ST_OK);
    assert_true((t.sources & SYMTAB_FROM_DEBUG_FILE) != 0);
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_PLACES);
    expect_places_of_work(&t);
    symtab_deinit(&t);
}

static void a_debug_file_of_another_build_names_nothing(void **state)
{
    struct symtab t = {0};
    const char *root;

    (void)state;
    root = workbench_path("stale");
    assert_true(
        workbench_run("id=$(readelf -n a | sed -n 's/.*Build ID: //p') && "
                      "mkdir -p stale/.build-id/${id%%${id#??}} && g++ -O1 -g -o other a.cpp && "
                      "objcopy --only-keep-debug other "
                      "stale/.build-id/${id%%${id#??}}/${id#??}.debug"));
    if (workbench_extract("stripped", root, &t) == ST_OK)
        assert_int_equal(t.sources & (SYMTAB_FROM_DEBUG_FILE | SYMTAB_FROM_DWARF), 0);
    symtab_deinit(&t);
}

static void a_debug_file_is_found_by_its_link_and_checksum(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_true(workbench_run("g++ -O2 -g -Wl,--build-id=none -o plain a.cpp && "
                              "objcopy --only-keep-debug plain linked.debug && strip plain && "
                              "objcopy --add-gnu-debuglink=linked.debug plain && "
                              "mkdir -p .debug && mv linked.debug .debug/"));
    assert_int_equal(workbench_extract("plain", "/nonexistent", &t), ST_OK);
    assert_int_equal(symtab_grade(&t), SYMTAB_GRADE_PLACES);
    expect_places_of_work(&t);
    symtab_deinit(&t);
    assert_true(workbench_run("echo >>.debug/linked.debug")); /* another checksum */
    if (workbench_extract("plain", "/nonexistent", &t) == ST_OK)
        assert_int_equal(t.sources & SYMTAB_FROM_DEBUG_FILE, 0);
    symtab_deinit(&t);
}

/* Whoever uploads one has the debug file alone: its segments have lost their offsets. */
static void a_debug_file_alone_gives_the_same_as_the_binary(void **state)
{
    static const char *const linkers[] = {"bfd", "gold", "lld"};

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct symtab whole = {0}, alone = {0};

        if (!workbench_run("g++ -O2 -g -fuse-ld=%s -o both a.cpp", linkers[i]))
            continue;
        assert_true(workbench_run("objcopy --only-keep-debug both both.debug"));
        assert_int_equal(workbench_extract("both", NULL, &whole), ST_OK);
        assert_int_equal(workbench_extract("both.debug", NULL, &alone), ST_OK);
        assert_int_equal(symtab_grade(&alone), SYMTAB_GRADE_PLACES);
        assert_int_equal(symbol_like(&alone, "_Z4workRSt6vector")->start,
                         symbol_like(&whole, "_Z4workRSt6vector")->start);
        expect_places_of_work(&alone);
        symtab_deinit(&whole);
        symtab_deinit(&alone);
    }
}

static void a_file_whose_sections_are_empty_gives_nothing(void **state)
{
    struct symtab t = {0};

    (void)state;
    assert_true(workbench_run("objcopy --only-keep-debug stripped hollow"));
    assert_int_equal(workbench_extract("hollow", NULL, &t), ST_NOT_FOUND);
    assert_int_equal(workbench_extract("a.cpp", NULL, &t), ST_INVALID);
}

/* ---- damage ---- */

static void no_damage_to_a_binary_crashes_its_reader(void **state)
{
    struct rng rng = rng_new();
    int from = workbench_open("packed"), fd = -1;
    char *bytes = malloc(1 << 20);
    ssize_t length = read(from, bytes, 1 << 20);

    (void)state;
    assert_true(length > 0);
    for (unsigned i = 0; i < 200; i++) {
        const struct extract_options options = {NULL, false};
        struct symtab t = {0};
        char *copy = malloc((size_t)length);

        memcpy(copy, bytes, (size_t)length);
        for (unsigned n = 0; n < 20; n++)
            copy[rng_below(&rng, (uint32_t)length)] = (char)rng_u64(&rng);
        fd = memfd_create("damaged", MFD_CLOEXEC);
        assert_int_equal(write(fd, copy, (size_t)length), length);
        if (extract_symbols(fd, &options, &t) == ST_OK)
            symtab_deinit(&t);
        close(fd);
        free(copy);
    }
    free(bytes);
    close(from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_binary_gives_names_and_places),
        cmocka_unit_test(a_stripped_binary_gives_what_it_exports),
        cmocka_unit_test(names_in_gnu_debugdata_are_found),
        cmocka_unit_test(damaged_gnu_debugdata_names_nothing),
        cmocka_unit_test(gnu_debugdata_that_unpacks_to_too_much_is_left_alone),
        cmocka_unit_test(go_names_survive_stripping),
        cmocka_unit_test(rust_names_come_as_the_linker_knows_them),
        cmocka_unit_test(a_static_pie_gives_its_names),
        cmocka_unit_test(a_name_of_any_length_is_cut),
        cmocka_unit_test(a_debug_file_is_found_by_its_build_id),
        cmocka_unit_test(a_debug_file_of_another_build_names_nothing),
        cmocka_unit_test(a_debug_file_is_found_by_its_link_and_checksum),
        cmocka_unit_test(a_debug_file_alone_gives_the_same_as_the_binary),
        cmocka_unit_test(a_file_whose_sections_are_empty_gives_nothing),
        cmocka_unit_test(no_damage_to_a_binary_crashes_its_reader),
    };

    return cmocka_run_group_tests_name("extract", tests, workbench_make, workbench_drop);
}
