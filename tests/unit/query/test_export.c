/* Exports: every format holds the whole profile, and other tools can read it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/query/export.h"
#include "tests/unit/query/export_world.h"

static struct blob export(struct export_world *w, enum export_format f)
{
    struct blob b = {0};

    assert_int_equal(export_profile(&w->profile, w->symbolizer, w->dictionary, f, &b), ST_OK);
    return b;
}

/* ---- collapsed ---- */

static void collapsed_merges_by_name_and_sorts(void **state)
{
    struct export_world *w = *state;
    struct blob b = export(w, EXPORT_COLLAPSED);
    char *text = strndup((const char *)b.bytes, b.length);
    char *last = NULL;
    uint64_t sum = 0;
    int lines = 0;

    blob_deinit(&b);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        char *space = strrchr(line, ' ');

        assert_non_null(space);
        sum += strtoull(space + 1, NULL, 10);
        *space = '\0';
        if (last != NULL)
            assert_true(strcmp(last, line) < 0);
        if (strcmp(line, "main") == 0) /* of app and of tool */
            assert_in_range(strtoull(space + 1, NULL, 10), 20202020, 20202021);
        last = line;
        lines++;
    }
    free(text);
    assert_int_equal(lines, 9);
    assert_int_equal(sum, llround(w->profile.weight_ns));
}

static void collapsed_lets_no_name_look_like_two(void **state)
{
    struct blob b = export(*state, EXPORT_COLLAPSED);
    char *text = strndup((const char *)b.bytes, b.length);

    blob_deinit(&b);
    assert_non_null(strstr(text, "main;work:hard;say \"x\"\\?.so+0x1010 11111111"));
    assert_null(strstr(text, "work;hard"));
    free(text);
}

/* ---- speedscope ---- */

static json_t *parse_speedscope(struct export_world *w)
{
    struct blob b = export(w, EXPORT_SPEEDSCOPE);
    json_error_t error;
    json_t *j = json_loadb((const char *)b.bytes, b.length, JSON_REJECT_DUPLICATES, &error);

    blob_deinit(&b);
    if (j == NULL)
        fail_msg("%s at %d", error.text, error.position);
    return j;
}

static json_t *only_profile(json_t *j)
{
    json_t *profiles = json_object_get(j, "profiles");

    assert_int_equal(json_array_size(profiles), 1);
    return json_array_get(profiles, 0);
}

static const char *string_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    assert_non_null(text);
    return text;
}

static void speedscope_has_the_fields_of_its_schema(void **state)
{
    json_t *j = parse_speedscope(*state), *p = only_profile(j);

    assert_string_equal(string_at(j, "$schema"),
                        "https://www.speedscope.app/file-format-schema.json");
    assert_string_equal(string_at(j, "exporter"), "fleetprof@" FLEETPROF_VERSION);
    assert_string_equal(string_at(j, "name"), "cpu 2026-11-30T12:00:00.000Z, 2 hosts");
    assert_int_equal(json_integer_value(json_object_get(j, "activeProfileIndex")), 0);
    assert_string_equal(string_at(p, "type"), "sampled");
    assert_string_equal(string_at(p, "unit"), "nanoseconds");
    assert_true(json_is_integer(json_object_get(p, "startValue")));
    json_decref(j);
}

static void speedscope_weights_sum_to_the_end_value_and_the_total(void **state)
{
    struct export_world *w = *state;
    json_t *j = parse_speedscope(w), *p = only_profile(j), *item;
    json_t *weights = json_object_get(p, "weights"), *samples = json_object_get(p, "samples");
    json_int_t sum = 0;
    size_t i;

    assert_int_equal(json_array_size(samples), json_array_size(weights));
    json_array_foreach(weights, i, item) sum += json_integer_value(item);
    assert_int_equal(sum, llround(w->profile.weight_ns));
    assert_int_equal(json_integer_value(json_object_get(p, "endValue")), sum);
    json_decref(j);
}

static void speedscope_stacks_begin_at_the_root_and_names_survive(void **state)
{
    json_t *j = parse_speedscope(*state), *sample;
    json_t *frames = json_object_get(json_object_get(j, "shared"), "frames");
    bool seen = false;
    size_t i;

    json_array_foreach(json_object_get(only_profile(j), "samples"), i, sample)
    {
        size_t depth = json_array_size(sample);
        const json_t *root, *leaf;

        assert_true(depth > 0);
        root = json_array_get(frames, (size_t)json_integer_value(json_array_get(sample, 0)));
        leaf =
            json_array_get(frames, (size_t)json_integer_value(json_array_get(sample, depth - 1)));
        if (strcmp(string_at(leaf, "name"), "say \"x\"\\?.so+0x1010") != 0)
            continue;
        seen = true;
        assert_string_equal(string_at(leaf, "file"), "say \"x\"\\\n.so");
        assert_string_equal(string_at(root, "name"), "main");
        assert_string_equal(string_at(root, "file"), "app");
    }
    assert_true(seen);
    json_decref(j);
}

/* ---- all formats ---- */

static void an_empty_profile_is_an_empty_file_that_can_be_read(void **state)
{
    struct export_world *w = *state;
    struct blob b;
    json_t *j;

    export_world_empty(w);
    b = export(w, EXPORT_COLLAPSED);
    assert_int_equal(b.length, 0);
    blob_deinit(&b);
    j = parse_speedscope(w);
    assert_int_equal(json_array_size(json_object_get(only_profile(j), "samples")), 0);
    assert_int_equal(json_integer_value(json_object_get(only_profile(j), "endValue")), 0);
    json_decref(j);
}

static void more_than_the_formats_can_count_is_refused(void **state)
{
    struct export_world *w = *state;
    struct blob b = {0};

    w->profile.weight_ns = 2 * EXPORT_WEIGHT_NS_MAX;
#define X(NAME, name, media)                                                                       \
    assert_int_equal(export_profile(&w->profile, w->symbolizer, w->dictionary, EXPORT_##NAME, &b), \
                     ST_TOO_BIG);
    EXPORT_FORMAT_LIST(X)
#undef X
    assert_null(b.bytes);
}

static void formats_are_known_by_name(void **state)
{
    enum export_format f = EXPORT_COLLAPSED;

    (void)state;
    assert_int_equal(export_format_parse("svg", &f), ST_INVALID);
    assert_int_equal(export_format_parse("", &f), ST_INVALID);
    assert_int_equal(f, EXPORT_COLLAPSED);
    assert_int_equal(export_format_parse("speedscope", &f), ST_OK);
    assert_string_equal(export_media_type(f), "application/json");
    assert_int_equal(export_format_parse("pprof", &f), ST_OK);
    assert_string_equal(export_media_type(f), "application/octet-stream");
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, export_world_set_up, export_world_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(collapsed_merges_by_name_and_sorts),
        TEST(collapsed_lets_no_name_look_like_two),
        TEST(speedscope_has_the_fields_of_its_schema),
        TEST(speedscope_weights_sum_to_the_end_value_and_the_total),
        TEST(speedscope_stacks_begin_at_the_root_and_names_survive),
        TEST(an_empty_profile_is_an_empty_file_that_can_be_read),
        TEST(more_than_the_formats_can_count_is_refused),
        cmocka_unit_test(formats_are_known_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
