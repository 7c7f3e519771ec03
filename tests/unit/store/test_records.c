#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/store/records.h"

enum { WRITER_LIMIT = 1 << 20 };

static void a_profiler_survives_its_bytes(void **state)
{
    struct profiler_record r = {.id = id128_random(),
                                .host = "web-1",
                                .incarnation = 7,
                                .event = EVENT_CPU,
                                .assigned = {11},
                                .ended = {22},
                                .last_sequence = 33},
                           back;
    struct wire_writer *w;

    (void)state;
    assert_int_equal(labels_set(&r.labels, "service", "checkout"), ST_OK);
    assert_int_equal(wire_writer_new(WRITER_LIMIT, &w), ST_OK);
    assert_int_equal(profiler_record_encode(&r, w), ST_OK);
    assert_int_equal(profiler_record_decode(wire_writer_bytes(w), &back), ST_OK);
    assert_true(id128_equal(back.id, r.id));
    assert_string_equal(back.host, "web-1");
    assert_true(labels_equal(&back.labels, &r.labels));
    assert_int_equal(back.incarnation, 7);
    assert_int_equal(back.event, EVENT_CPU);
    assert_int_equal(back.assigned.ns + back.ended.ns + back.last_sequence, 66);
    profiler_record_deinit(&back);
    profiler_record_deinit(&r);
    wire_writer_free(w);
}

static void a_session_survives_its_bytes(void **state)
{
    struct session_member members[2] = {{id128_random(), {5}, {0}}, {id128_random(), {6}, {7}}};
    struct session_record r = {.id = 0x0123456789abcdef,
                               .selector = (char[]){"service=checkout"},
                               .event = EVENT_CPU,
                               .hz = 99,
                               .created = {1},
                               .ends = {2},
                               .state = SESSION_DRAINING,
                               .stopped = true,
                               .owner = "ann",
                               .note = "why",
                               .members = members,
                               .member_count = 2},
                          back;
    struct wire_writer *w;
    struct slice bytes;

    (void)state;
    assert_int_equal(wire_writer_new(WRITER_LIMIT, &w), ST_OK);
    assert_int_equal(session_record_encode(&r, w), ST_OK);
    bytes = wire_writer_bytes(w);
    assert_int_equal(session_record_decode(bytes, &back), ST_OK);
    assert_string_equal(back.selector, r.selector);
    assert_string_equal(back.owner, "ann");
    assert_true(back.stopped);
    assert_int_equal(back.state, SESSION_DRAINING);
    assert_int_equal(back.member_count, 2);
    assert_memory_equal(back.members, members, sizeof(members));
    session_record_deinit(&back);

    for (size_t cut = 0; cut < bytes.length; cut++)
        assert_int_not_equal(session_record_decode((struct slice){bytes.bytes, cut}, &back), ST_OK);
    wire_writer_free(w);
}

static void a_session_id_is_sixteen_hex_digits(void **state)
{
    char text[SESSION_ID_TEXT_MAX];
    uint64_t id;

    (void)state;
    assert_string_equal(session_id_format(0x0123456789abcdef, text), "0123456789abcdef");
    assert_int_equal(session_id_parse(text, &id), ST_OK);
    assert_int_equal(id, 0x0123456789abcdef);
    assert_int_equal(session_id_parse("123", &id), ST_INVALID);
    assert_int_equal(session_id_parse("0123456789abcdeg", &id), ST_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_profiler_survives_its_bytes),
        cmocka_unit_test(a_session_survives_its_bytes),
        cmocka_unit_test(a_session_id_is_sixteen_hex_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
