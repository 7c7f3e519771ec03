/* The base values: ids, labels, times as people write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "common/id.h"
#include "common/labels.h"
#include "common/when.h"

static void an_id_survives_its_text(void **state)
{
    struct id128 id = id128_random(), back;
    char text[ID128_TEXT_MAX];

    (void)state;
    assert_int_equal(id128_parse(id128_format(id, text), &back), ST_OK);
    assert_true(id128_equal(id, back));
    assert_false(id128_equal(id, id128_random()));
    assert_int_equal(id128_parse("123", &back), ST_INVALID);
    text[5] = 'g';
    assert_int_equal(id128_parse(text, &back), ST_INVALID);
}

static void a_build_id_is_bounded_and_compares_by_content(void **state)
{
    struct build_id a, b;
    uint8_t bytes[40] = {0xab, 0xcd};
    char text[BUILD_ID_TEXT_MAX];

    (void)state;
    assert_int_equal(build_id_from_bytes(bytes, 0, &a), ST_INVALID);
    assert_int_equal(build_id_from_bytes(bytes, 33, &a), ST_TOO_BIG);
    assert_int_equal(build_id_from_bytes(bytes, 20, &a), ST_OK);
    assert_int_equal(build_id_parse(build_id_format(&a, text), &b), ST_OK);
    assert_true(build_id_equal(&a, &b));
    assert_int_equal(build_id_from_bytes(bytes, 19, &b), ST_OK);
    assert_false(build_id_equal(&a, &b));
    assert_int_equal(build_id_parse("abc", &b), ST_INVALID);
}

static void labels_stay_sorted_and_replace(void **state)
{
    struct labels l = {0}, over = {0}, merged;

    (void)state;
    assert_int_equal(labels_set(&l, "zone", "eu-1"), ST_OK);
    assert_int_equal(labels_set_pair(&l, "service=checkout"), ST_OK);
    assert_int_equal(labels_set(&l, "zone", "eu-2"), ST_OK);
    assert_int_equal(l.count, 2);
    assert_string_equal(l.items[0].key, "service");
    assert_string_equal(labels_get(&l, "zone"), "eu-2");
    assert_null(labels_get(&l, "host"));

    assert_int_equal(labels_set(&over, "service", "cart"), ST_OK);
    assert_int_equal(labels_merge(&l, &over, &merged), ST_OK);
    assert_string_equal(labels_get(&merged, "service"), "cart");
    assert_string_equal(labels_get(&merged, "zone"), "eu-2");
    labels_deinit(&merged);
    labels_deinit(&over);
    labels_deinit(&l);
}

static void labels_refuse_what_they_cannot_hold(void **state)
{
    struct labels l = {0};
    char key[LABEL_KEY_MAX + 2], value[LABEL_VALUE_MAX + 2], name[8];

    (void)state;
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    memset(value, 'v', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    assert_int_equal(labels_set(&l, key, "x"), ST_TOO_BIG);
    assert_int_equal(labels_set(&l, "k", value), ST_TOO_BIG);
    assert_int_equal(labels_set(&l, "", "x"), ST_INVALID);
    assert_int_equal(labels_set(&l, "Upper", "x"), ST_INVALID);
    assert_int_equal(labels_set(&l, "k", "new\nline"), ST_INVALID);
    assert_int_equal(labels_set_pair(&l, "no-equals"), ST_INVALID);
    for (int i = 0; i < LABELS_MAX; i++) {
        name[0] = 'k';
        name[1] = (char)('0' + i / 10);
        name[2] = (char)('0' + i % 10);
        name[3] = '\0';
        assert_int_equal(labels_set(&l, name, ""), ST_OK);
    }
    assert_int_equal(labels_set(&l, "one-more", ""), ST_FULL);
    labels_deinit(&l);
}

static void durations_read_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"30s", 30 * NS_PER_S},     {"250ms", 250 * NS_PER_MS},   {"5m", 300 * NS_PER_S},
        {"1h30m", 5400 * NS_PER_S}, {"7d", 7 * 86400 * NS_PER_S}, {"2w", 14 * 86400 * NS_PER_S},
        {"45", 45 * NS_PER_S},      {"1.5s", 1500 * NS_PER_MS},   {"0s", 0},
    };
    static const char *const bad[] = {"",      "s",   "30x",  "-5s",    "inf",   "nan",
                                      "0x10s", "5 s", "1h30", "99999w", "1e300s"};
    uint64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(duration_parse(good[i].text, &ns), ST_OK);
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (duration_parse(bad[i], &ns) != ST_INVALID)
            fail_msg("'%s' was taken for a duration", bad[i]);
}

static void times_read_as_people_write_them(void **state)
{
    const struct wall now = {UINT64_C(1796000000) * NS_PER_S};
    static const struct {
        const char *text;
        uint64_t ms;
    } good[] = {
        {"now", UINT64_C(1796000000000)},
        {"-1h", UINT64_C(1795996400000)},
        {"1700000000.25", UINT64_C(1700000000250)},
        {"2026-11-30T21:00:00Z", UINT64_C(1796072400000)},
        {"2026-11-30T21:00:00", UINT64_C(1796072400000)},
        {"2026-11-30T22:00:00.500+01:00", UINT64_C(1796072400500)},
        {"2026-11-30T20:30-0030", UINT64_C(1796072400000)},
        {"2026-11-30", UINT64_C(1795996800000)},
    };
    static const char *const bad[] = {"",
                                      "yesterday",
                                      "-",

                                      "2026-13-01",
                                      "2026-11-30T25:00",
                                      "2026-11-30T21:00:00+99:00",
                                      "99999999999",
                                      "nan",
                                      "-100w20y"};
    struct wall t;
    char text[WHEN_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (when_parse(good[i].text, now, &t) != ST_OK)
            fail_msg("'%s' was refused", good[i].text);
        assert_int_equal(t.ns / NS_PER_MS, good[i].ms);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (when_parse(bad[i], now, &t) == ST_OK)
            fail_msg("'%s' was taken for a time", bad[i]);
    assert_string_equal(when_format((struct wall){UINT64_C(1796072400500) * NS_PER_MS}, text),
                        "2026-11-30T21:00:00.500Z");
    assert_string_equal(duration_format(90 * NS_PER_S, text), "1m30s");
    assert_string_equal(duration_format(250 * NS_PER_MS, text), "250ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_survives_its_text),
        cmocka_unit_test(a_build_id_is_bounded_and_compares_by_content),
        cmocka_unit_test(labels_stay_sorted_and_replace),
        cmocka_unit_test(labels_refuse_what_they_cannot_hold),
        cmocka_unit_test(durations_read_as_people_write_them),
        cmocka_unit_test(times_read_as_people_write_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
