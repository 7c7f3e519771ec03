/* record: perf's bytes become events, and no length in them is believed. */
#include "agent/process/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/perf_event.h>

#include <cmocka.h>

enum { RECORD_ROOM = 512 };

static uint64_t room[RECORD_ROOM / sizeof(uint64_t)]; /* records are 8-byte aligned */
static size_t used;

static void put(const void *bytes, size_t length)
{
    memcpy((uint8_t *)room + used, bytes, length);
    used += length;
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof(value));
}

static void put_u64(uint64_t value)
{
    put(&value, sizeof(value));
}

static void put_text(const char *text) /* padded to 8 bytes */
{
    char padded[64] = "";

    strncpy(padded, text, sizeof(padded) - 1);
    put(padded, (strlen(text) / 8 + 1) * 8);
}

static void begin(uint32_t type, uint16_t misc)
{
    struct perf_event_header header = {.type = type, .misc = misc};

    memset(room, 0, sizeof(room));
    used = 0;
    put(&header, sizeof(header));
}

static enum record_kind parse(struct sideband_event *event)
{
    uint64_t lost = 0;

    return record_parse(room, used, event, &lost);
}

static void put_mmap2(uint32_t protection, const char *path)
{
    static const uint8_t id[20] = {0xab, 0xcd};

    begin(PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
    put_u32(7);
    put_u32(8);
    put_u64(0x1000);
    put_u64(0x2000);
    put_u64(0x3000);
    put_u32(sizeof(id));
    put(id, sizeof(id));
    put_u32(protection);
    put_u32(MAP_PRIVATE);
    put_text(path);
    put_u64(99);
}

static void fork_and_exit_carry_both_processes_and_their_own_time(void **state)
{
    struct sideband_event e;

    (void)state;
    begin(PERF_RECORD_FORK, 0);
    put_u32(11);
    put_u32(10);
    put_u32(12);
    put_u32(10);
    put_u64(1234);
    put_u64(1235);
    assert_int_equal(parse(&e), RECORD_EVENT);
    assert_int_equal(e.kind, SIDEBAND_FORK);
    assert_int_equal(e.pid, 11);
    assert_int_equal(e.tid, 12);
    assert_int_equal(e.parent_pid, 10);
    assert_int_equal(e.time.ns, 1234);
}

static void an_exec_is_told_from_a_rename(void **state)
{
    struct sideband_event e;

    (void)state;
    for (int exec = 0; exec < 2; exec++) {
        begin(PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
        put_u32(5);
        put_u32(6);
        put_text("worker");
        put_u64(77);
        assert_int_equal(parse(&e), RECORD_EVENT);
        assert_int_equal(e.kind, exec ? SIDEBAND_EXEC : SIDEBAND_COMM);
        assert_string_equal(e.comm, "worker");
        assert_int_equal(e.time.ns, 77);
    }
}

static void an_executable_mapping_has_its_build_id_and_path(void **state)
{
    struct sideband_event e;

    (void)state;
    put_mmap2(PROT_READ | PROT_EXEC, "/usr/bin/cat");
    assert_int_equal(parse(&e), RECORD_EVENT);
    assert_int_equal(e.kind, SIDEBAND_MMAP);
    assert_int_equal(e.start, 0x1000);
    assert_int_equal(e.length, 0x2000);
    assert_int_equal(e.file_offset, 0x3000);
    assert_int_equal(e.build_id.length, 20);
    assert_int_equal(e.build_id.bytes[1], 0xcd);
    assert_string_equal(e.path, "/usr/bin/cat");
    assert_int_equal(e.time.ns, 99);
}

static void data_mappings_are_of_no_interest(void **state)
{
    struct sideband_event e;

    (void)state;
    put_mmap2(PROT_READ, "/usr/bin/cat");
    assert_int_equal(parse(&e), RECORD_OTHER);
}

static void lost_records_are_numbered(void **state)
{
    struct sideband_event e;
    uint64_t lost = 0;

    (void)state;
    begin(PERF_RECORD_LOST, 0);
    put_u64(1);
    put_u64(42);
    put_u64(0);
    assert_int_equal(record_parse(room, used, &e, &lost), RECORD_LOST);
    assert_int_equal(lost, 42);
}

static void every_truncation_is_harmless(void **state)
{
    struct sideband_event e;
    uint64_t lost;

    (void)state;
    put_mmap2(PROT_EXEC, "/usr/bin/cat");
    for (size_t length = 0; length < used; length++) {
        uint8_t *exact = malloc(length + 1); /* so that the sanitizer sees a read past the end */

        memcpy(exact, room, length);
        if (length < 72 + sizeof(uint64_t))
            assert_int_equal(record_parse(exact, length, &e, &lost), RECORD_MALFORMED);
        else
            (void)record_parse(exact, length, &e, &lost);
        free(exact);
    }
}

static void unterminated_text_and_long_build_ids_are_malformed(void **state)
{
    struct sideband_event e;
    uint8_t *bytes = (uint8_t *)room;

    (void)state;
    put_mmap2(PROT_EXEC, "/bin/sh");
    memset(bytes + 72, 'a', used - 72 - sizeof(uint64_t));
    assert_int_equal(parse(&e), RECORD_MALFORMED);
    put_mmap2(PROT_EXEC, "/bin/sh");
    bytes[40] = 21;
    assert_int_equal(parse(&e), RECORD_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fork_and_exit_carry_both_processes_and_their_own_time),
        cmocka_unit_test(an_exec_is_told_from_a_rename),
        cmocka_unit_test(an_executable_mapping_has_its_build_id_and_path),
        cmocka_unit_test(data_mappings_are_of_no_interest),
        cmocka_unit_test(lost_records_are_numbered),
        cmocka_unit_test(every_truncation_is_harmless),
        cmocka_unit_test(unterminated_text_and_long_build_ids_are_malformed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
