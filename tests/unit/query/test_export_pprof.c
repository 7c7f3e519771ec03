/* pprof's format: it holds the whole profile, its names and sums are those of rankings, and pprof
 * itself says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/export.h"
#include "coordinator/query/rank.h"
#include "profile.pb-c.h"
#include "tests/unit/query/export_world.h"

typedef Perftools__Profiles__Profile Pprof;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Mapping Mapping;
typedef Perftools__Profiles__Location Location;

static const char vector_name[] =
    "std::vector<int, std::allocator<int> >::push_back"; /* pprof would drop what is in <> */

static struct blob export(struct export_world *w)
{
    struct blob b = {0};

    assert_int_equal(export_profile(&w->profile, w->symbolizer, w->dictionary, EXPORT_PPROF, &b),
                     ST_OK);
    return b;
}

/* ---- the file, unpacked ---- */

static void save(const struct export_world *w, const struct blob *b, char path[96])
{
    FILE *file;

    (void)snprintf(path, 96, "%s/profile.pb.gz", w->directory);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->bytes, 1, b->length, file), b->length);
    assert_int_equal(fclose(file), 0);
}

static size_t read_command(const char *command, char *out, size_t size, int *status)
{
    FILE *pipe = popen(command, "r"); /* NOLINT: our own command */
    size_t length;

    assert_non_null(pipe);
    length = fread(out, 1, size - 1, pipe);
    out[length] = '\0';
    *status = pclose(pipe);
    return length;
}

static Pprof *unpack(struct export_world *w)
{
    static char plain[1 << 16];
    struct blob b = export(w);
    char path[96], command[128];
    int status;
    size_t length;
    Pprof *p;

    save(w, &b, path);
    blob_deinit(&b);
    (void)snprintf(command, sizeof(command), "gzip -dc %s", path);
    length = read_command(command, plain, sizeof(plain), &status);
    assert_int_equal(status, 0);
    p = perftools__profiles__profile__unpack(NULL, length, (const uint8_t *)plain);
    assert_non_null(p);
    return p;
}

static void drop(Pprof *p)
{
    perftools__profiles__profile__free_unpacked(p, NULL);
}

static const char *text_of(const Pprof *p, int64_t number)
{
    assert_true(number >= 0 && (size_t)number < p->n_string_table);
    return p->string_table[number];
}

static const Location *location_of(const Pprof *p, uint64_t id)
{
    for (size_t i = 0; i < p->n_location; i++) {
        if (p->location[i]->id == id)
            return p->location[i];
    }
    fail_msg("no location %" PRIu64, id);
    return NULL;
}

static const char *name_of(const Pprof *p, uint64_t location)
{
    const Location *l = location_of(p, location);

    assert_int_equal(l->n_line, 1);
    for (size_t i = 0; i < p->n_function; i++) {
        if (p->function[i]->id == l->line[0]->function_id)
            return text_of(p, p->function[i]->name);
    }
    fail_msg("location %" PRIu64 " has no function", location);
    return NULL;
}

static const Mapping *mapping_named(const Pprof *p, const char *path)
{
    for (size_t i = 0; i < p->n_mapping; i++) {
        if (strcmp(text_of(p, p->mapping[i]->filename), path) == 0)
            return p->mapping[i];
    }
    fail_msg("no mapping of %s", path);
    return NULL;
}

static const char *label(const Pprof *p, const Sample *s, const char *key)
{
    for (size_t i = 0; i < s->n_label; i++) {
        if (strcmp(text_of(p, s->label[i]->key), key) == 0)
            return text_of(p, s->label[i]->str);
    }
    return NULL;
}

/* ---- what it says ---- */

static void pprof_says_what_was_measured_and_how_well(void **state)
{
    Pprof *p = unpack(*state);

    assert_string_equal(text_of(p, 0), "");
    assert_int_equal(p->n_sample_type, 2);
    assert_string_equal(text_of(p, p->sample_type[0]->type), "samples");
    assert_string_equal(text_of(p, p->sample_type[0]->unit), "count");
    assert_string_equal(text_of(p, p->sample_type[1]->type), "cpu");
    assert_string_equal(text_of(p, p->sample_type[1]->unit), "nanoseconds");
    assert_string_equal(text_of(p, p->default_sample_type), "cpu");
    assert_string_equal(text_of(p, p->period_type->type), "cpu");
    assert_int_equal(p->period, 10101010);
    assert_int_equal(p->time_nanos, UINT64_C(1796040000) * NS_PER_S);
    assert_int_equal(p->duration_nanos, NS_PER_S);
    assert_int_equal(p->n_comment, 4);
    assert_non_null(strstr(text_of(p, p->comment[0]), "from 2026-11-30T12:00:00.000Z to"));
    assert_non_null(strstr(text_of(p, p->comment[1]), "2 of 3 hosts, 66.67 %"));
    assert_non_null(strstr(text_of(p, p->comment[3]), "60 expected"));
    assert_non_null(strstr(text_of(p, p->comment[3]), "ring_full 6"));
    drop(p);
}

static void pprof_holds_every_sample_and_the_whole_weight(void **state)
{
    struct export_world *w = *state;
    Pprof *p = unpack(w);
    int64_t samples = 0, weight_ns = 0;

    for (size_t i = 0; i < p->n_sample; i++) {
        assert_int_equal(p->sample[i]->n_value, 2);
        assert_true(p->sample[i]->n_location_id > 0);
        samples += p->sample[i]->value[0];
        weight_ns += p->sample[i]->value[1];
    }
    assert_int_equal(samples, w->profile.samples);
    assert_int_equal(weight_ns, llround(w->profile.weight_ns));
    drop(p);
}

static void pprof_has_one_sample_for_a_stack_of_a_task_whatever_its_replicates(void **state)
{
    struct export_world *w = *state;
    Pprof *p = unpack(w);
    const Sample *of[2] = {NULL, NULL}; /* main, work;hard: on web-1, on web-2 */

    assert_int_equal(p->n_sample, w->profile.cell_count - 1);
    for (size_t i = 0; i < p->n_sample; i++) {
        const Sample *s = p->sample[i];

        if (s->n_location_id == 2 && strcmp(name_of(p, s->location_id[0]), "work;hard") == 0)
            of[strcmp(label(p, s, "host"), "web-2") == 0] = s;
    }
    assert_non_null(of[0]);
    assert_non_null(of[1]);
    assert_string_equal(name_of(p, of[0]->location_id[1]), "main"); /* the leaf was first */
    assert_int_equal(of[0]->value[0], 5);
    assert_int_equal(of[1]->value[0], 2);
    assert_string_equal(label(p, of[0], "service"), "shop");
    assert_string_equal(label(p, of[0], "comm"), "app");
    assert_string_equal(label(p, of[0], "thread"), "worker-1");
    assert_null(label(p, of[1], "service"));
    assert_null(label(p, of[1], "thread"));
    drop(p);
}

static void pprof_gives_each_binary_a_range_of_its_own(void **state)
{
    Pprof *p = unpack(*state);
    const Mapping *app = mapping_named(p, "/opt/a/app"), *tool = mapping_named(p, "/usr/bin/tool");

    assert_int_equal(p->n_mapping, WORLD_BINARIES);
    assert_string_equal(text_of(p, app->build_id), "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1");
    assert_int_equal(app->file_offset, 0);
    for (size_t i = 0; i < p->n_mapping; i++) {
        const Mapping *a = p->mapping[i];

        assert_true(a->memory_start < a->memory_limit);
        assert_true(a->has_functions);
        for (size_t k = 0; k < i; k++)
            assert_true(a->memory_limit < p->mapping[k]->memory_start ||
                        a->memory_start > p->mapping[k]->memory_limit);
    }
    for (size_t i = 0; i < p->n_location; i++) {
        const Location *l = p->location[i];

        if (l->mapping_id == app->id && strcmp(name_of(p, l->id), "main") == 0)
            assert_int_equal(l->address - app->memory_start, 0x1010);
        if (l->mapping_id == tool->id)
            assert_int_equal(l->address - tool->memory_start, 0x1010);
        if (l->mapping_id == 0)
            assert_int_equal(l->address, 0);
    }
    drop(p);
}

static bool has_location(const Pprof *p, const char *name)
{
    for (size_t i = 0; i < p->n_location; i++) {
        if (strcmp(name_of(p, p->location[i]->id), name) == 0)
            return true;
    }
    return false;
}

static void pprof_names_what_has_no_symbol(void **state)
{
    Pprof *p = unpack(*state);

    assert_true(has_location(p, "say \"x\"\\?.so+0x1010"));
    assert_true(has_location(p, "say \"x\"\\?.so+0xffffffffffffffff"));
    assert_true(has_location(p, "jit \"quoted\" \\ <b>"));
    assert_true(has_location(p, "[unknown]")); /* a sample without a stack */
    assert_true(has_location(p, "do_syscall_64"));
    for (size_t i = 0; i < p->n_function; i++) {
        assert_int_equal(p->function[i]->filename, 0);
        assert_int_equal(p->function[i]->system_name, 0);
    }
    drop(p);
}

/* ---- pprof, read by pprof ---- */

struct name_sum {
    double self_ns, total_ns;
};

static struct name_sum ranked(struct export_world *w, const char *name)
{
    const enum rank_by by = RANK_BY_FUNCTION;
    struct ranking r;
    struct name_sum sum = {0};

    assert_int_equal(rank(&w->profile, w->symbolizer, w->dictionary, &by, 1, 0, &r), ST_OK);
    for (uint32_t i = 0; i < r.row_count; i++) {
        if (strcmp(r.rows[i].key[0], name) != 0)
            continue;
        sum.self_ns += r.rows[i].self.weight_ns;
        sum.total_ns += r.rows[i].total.weight_ns;
    }
    ranking_deinit(&r);
    return sum;
}

/* "FLATns FLAT% SUM% CUMns CUM%  name" */
static bool parse_top_line(const char *line, struct name_sum *out, char name[256])
{
    return sscanf(line, "%lfns %*f%% %*f%% %lfns %*f%% %255[^\n]", &out->self_ns, &out->total_ns,
                  name) == 3 ||
           sscanf(line, "0 %*f%% %*f%% %lfns %*f%% %255[^\n]", &out->total_ns, name) == 2;
}

static void pprof_itself_shows_the_ranking(void **state)
{
    struct export_world *w = *state;
    struct blob b = export(w);
    char path[96], command[512], text[1 << 14], name[256];
    int status, rows = 0;

    if (system("command -v go >/dev/null") != 0) { /* NOLINT: our own command */
        blob_deinit(&b);
        skip();
    }
    save(w, &b, path);
    blob_deinit(&b);
    (void)snprintf(command, sizeof(command),
                   "HOME=%s go tool pprof -top -unit=ns -sample_index=cpu -nodefraction=0 "
                   "-nodecount=100 %s 2>%s/errors",
                   w->directory, path, w->directory);
    (void)read_command(command, text, sizeof(text), &status);
    assert_int_equal(status, 0);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        struct name_sum shown = {0}, wanted;

        if (!parse_top_line(line, &shown, name))
            continue;
        wanted = ranked(w, name);
        if (wanted.total_ns == 0)
            fail_msg("no ranking has '%s'", name);
        assert_true(fabs(shown.self_ns - wanted.self_ns) <= 2);
        assert_true(fabs(shown.total_ns - wanted.total_ns) <= w->profile.cell_count);
        rows++;
    }
    assert_int_equal(rows, 8);
}

static void pprof_keeps_template_arguments_apart(void **state)
{
    Pprof *p = unpack(*state);

    if (!has_location(p, vector_name))
        fail_msg("no %s", vector_name);
    drop(p);
}

static void an_empty_profile_still_says_what_was_measured(void **state)
{
    struct export_world *w = *state;
    Pprof *p;

    export_world_empty(w);
    p = unpack(w);
    assert_int_equal(p->n_sample, 0);
    assert_int_equal(p->n_sample_type, 2);
    assert_int_equal(p->n_comment, 4);
    drop(p);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, export_world_set_up, export_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pprof_says_what_was_measured_and_how_well),
        TEST(pprof_holds_every_sample_and_the_whole_weight),
        TEST(pprof_has_one_sample_for_a_stack_of_a_task_whatever_its_replicates),
        TEST(pprof_gives_each_binary_a_range_of_its_own),
        TEST(pprof_names_what_has_no_symbol),
        TEST(pprof_itself_shows_the_ranking),
        TEST(pprof_keeps_template_arguments_apart),
        TEST(an_empty_profile_still_says_what_was_measured),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
