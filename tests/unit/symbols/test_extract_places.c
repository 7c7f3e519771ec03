/* extract: the lines and inlined calls of binaries that real compilers made are those that other
 * readers find. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/rng.h"
#include "tests/unit/symbols/workbench.h"

enum { CHAIN_MAX = 32 << 10 };

/* Where siblings overlap it may show another of them. */
enum { DISAGREEMENTS_MAX_PERCENT = 1 };

struct chain { /* of an address, innermost first: "function\nline\n" each; the outermost
                 function, which has its name from the symbols, is "-" */
    char text[CHAIN_MAX];
};

/* The line of "file:line (discriminator 3)", 0 for "file:?". */
static unsigned line_of(const char *place)
{
    const char *colon = strrchr(place, ':');

    return colon == NULL ? 0 : (unsigned)strtoul(colon + 1, NULL, 10);
}

/* What addr2line -a -f -i says of an address. That of binutils mistakes some files, which are left
 * out, and loses calls that clang made; that of elfutils loses callers that are members of a class,
 * and begins with "function inlined at ...". */
static void their_chain(FILE *f, struct chain *out)
{
    char line[CHAIN_MAX];
    size_t length = 0, last = 0;

    out->text[0] = '\0';
    for (unsigned i = 0; fgets(line, sizeof(line), f) != NULL; i++) {
        if (strncmp(line, "0x", 2) == 0) { /* the next address */
            fseek(f, -(long)strlen(line), SEEK_CUR);
            break;
        }
        line[strcspn(line, "\n")] = '\0';
        if (i % 2 == 0) {
            last = length;
            line[strcspn(line, " ")] = '\0';
        }
        length +=
            i % 2 == 0
                ? (size_t)snprintf(out->text + length, CHAIN_MAX - length, "%s\n", line)
                : (size_t)snprintf(out->text + length, CHAIN_MAX - length, "%u\n", line_of(line));
    }
    snprintf(line, sizeof(line), "-%s", strchr(out->text + last, '\n'));
    snprintf(out->text + last, CHAIN_MAX - last, "%s", line);
}

static void our_chain(const struct symtab *t, uint64_t offset, struct chain *out)
{
    struct place places[PLACES_DEPTH_MAX];
    uint32_t count = places_find(&t->places, offset, places, PLACES_DEPTH_MAX);
    size_t length = 0;

    out->text[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        length +=
            (size_t)snprintf(out->text + length, CHAIN_MAX - length, "%s\n%u\n",
                             places[i].function == NULL ? "-" : places[i].function, places[i].line);
}

struct comparison {
    uint32_t equal, different, deep;
};

/* Every 3rd to 12th byte of every function. */
static void write_addresses(const struct symtab *t)
{
    struct rng rng = rng_new();
    FILE *f;

    f = fopen(workbench_path("addresses"), "w");
    assert_non_null(f);
    for (uint32_t i = 0; i < t->count; i++)
        for (uint64_t at = 0; at < t->symbols[i].size; at += 3 + rng_below(&rng, 10))
            fprintf(f, "0x%llx\n", (unsigned long long)(t->symbols[i].start + at));
    fclose(f);
}

static FILE *ask(const char *tool, const char *name)
{
    char name_out[64];
    FILE *f;

    assert_true(workbench_run("%s -a -f -i -e %s <addresses >%s.out; true", tool, name, tool));
    snprintf(name_out, sizeof(name_out), "%s.out", tool);
    f = fopen(workbench_path(name_out), "r");
    assert_non_null(f);
    return f;
}

/* For a binary whose addresses are offsets. One of the two must say the same. Code without debug
 * information is left out. */
static struct comparison compare_all(const char *name, const struct symtab *t)
{
    static struct chain theirs, others, ours;
    struct comparison c = {0};
    struct place places[PLACES_DEPTH_MAX];
    char head[64];
    FILE *f, *other;

    write_addresses(t);
    f = ask("addr2line", name);
    other = ask("eu-addr2line", name);
    while (fgets(head, sizeof(head), f) != NULL && fgets(head, sizeof(head), other) != NULL) {
        uint64_t offset = strtoull(head, NULL, 16);

        their_chain(f, &theirs);
        their_chain(other, &others);
        our_chain(t, offset, &ours);
        if (ours.text[0] == '\0' && strcmp(theirs.text, "-\n0\n") == 0)
            continue;
        if (strcmp(ours.text, theirs.text) == 0 || strcmp(ours.text, others.text) == 0)
            c.equal++;
        else
            c.different++;
        c.deep += places_find(&t->places, offset, places, PLACES_DEPTH_MAX) > 2;
    }
    fclose(f);
    fclose(other);
    return c;
}

static void inlined_chains_are_those_of_addr2line(void **state)
{
    static const char *const compilers[] = {"g++ -O2", "g++ -O3 -gdwarf-4"};

    (void)state;
    if (!workbench_run("addr2line --version && eu-addr2line --version"))
        skip();
    for (unsigned i = 0; i < 2; i++) {
        struct symtab t = {0};
        struct comparison c;

        if (!workbench_run("%s -g -o chains.bin a.cpp", compilers[i]))
            continue;
        assert_int_equal(workbench_extract("chains.bin", NULL, &t), ST_OK);
        c = compare_all("chains.bin", &t);
        assert_true(c.equal > 100);
        assert_true(c.deep > 10);
        assert_true(c.different * 100 <= c.equal * DISAGREEMENTS_MAX_PERCENT);
        symtab_deinit(&t);
    }
}

static bool has_call_inside_a_call(const struct symtab *t)
{
    struct place out[PLACES_DEPTH_MAX];

    for (uint32_t i = 0; i < t->places.span_count; i++)
        if (places_find(&t->places, t->places.spans[i].start, out, PLACES_DEPTH_MAX) >= 3)
            return true;
    return false;
}

static void every_dialect_of_debug_information_is_read(void **state)
{
    static const char *const compilers[] = {"g++ -O2 -gz", "clang++ -O2", "clang++ -O2 -gdwarf-4",
                                            "clang++ -O2 -gz"};

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct symtab t = {0};

        assert_true(workbench_run("%s -g -o dialect a.cpp", compilers[i]));
        assert_int_equal(workbench_extract("dialect", NULL, &t), ST_OK);
        assert_true(has_call_inside_a_call(&t));
        symtab_deinit(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inlined_chains_are_those_of_addr2line),
        cmocka_unit_test(every_dialect_of_debug_information_is_read),
    };

    return cmocka_run_group_tests_name("extract_places", tests, workbench_make, workbench_drop);
}
