/* process: made-up events on pids that no kernel gives. */
#include "agent/process/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/process/binaries.h"
#include "tests/unit/agent/process_events.h"

static void a_child_has_its_parents_mappings_until_it_becomes_another_program(void **state)
{
    (void)state;
    fork_process(1, PARENT);
    rename_thread(SIDEBAND_EXEC, PARENT, PARENT, "shell");
    map_file(PARENT, 0x1000, 1, "/no/such/shell");
    fork_process(PARENT, CHILD);
    assert_string_equal(processes_find(table, CHILD)->comm, "shell");
    assert_string_equal(processes_map(table, CHILD, 0x1800)->binary->path, "/no/such/shell");
    rename_thread(SIDEBAND_EXEC, CHILD, CHILD, "tool");
    assert_null(processes_map(table, CHILD, 0x1800));
    map_file(CHILD, 0x1000, 2, "/no/such/tool");
    assert_string_equal(processes_find(table, CHILD)->comm, "tool");
    assert_string_equal(processes_map(table, CHILD, 0x1800)->binary->path, "/no/such/tool");
    assert_string_equal(processes_map(table, PARENT, 0x1800)->binary->path, "/no/such/shell");
}

static void an_exec_is_a_new_serial_and_a_rename_is_not(void **state)
{
    uint64_t serial;

    (void)state;
    fork_process(1, PARENT);
    serial = processes_find(table, PARENT)->serial;
    rename_thread(SIDEBAND_COMM, PARENT, PARENT, "title");
    assert_true(processes_find(table, PARENT)->serial == serial);
    assert_string_equal(processes_find(table, PARENT)->comm, "title");
    assert_string_equal(labels_get(&processes_find(table, PARENT)->labels, "comm"), "title");
    rename_thread(SIDEBAND_COMM, PARENT, PARENT + 7, "worker");
    assert_string_equal(processes_find(table, PARENT)->comm, "title");
    rename_thread(SIDEBAND_EXEC, PARENT, PARENT, "title");
    assert_true(processes_find(table, PARENT)->serial != serial);
}

static void a_process_lives_as_long_as_one_thread(void **state)
{
    (void)state;
    fork_process(1, PARENT);
    start_thread(PARENT, CHILD);
    end_thread(PARENT, PARENT); /* the first thread goes */
    pass_time(60 * NS_PER_S);
    assert_non_null(processes_find(table, PARENT));
    end_thread(PARENT, CHILD);
    pass_time(60 * NS_PER_S);
    assert_null(processes_find(table, PARENT));
}

static void an_ended_process_can_be_asked_for_a_little_longer(void **state)
{
    (void)state;
    fork_process(1, PARENT);
    map_file(PARENT, 0x1000, 1, "/no/such/tool");
    end_thread(PARENT, PARENT);
    pass_time(9 * NS_PER_S);
    assert_non_null(processes_find(table, PARENT));
    assert_non_null(processes_map(table, PARENT, 0x1000));
    pass_time(2 * NS_PER_S);
    assert_null(processes_find(table, PARENT));
    assert_int_equal(processes_read_counters(table).processes, 0);
}

static void a_pid_that_is_used_again_is_a_new_process(void **state)
{
    uint64_t serial, start;

    (void)state;
    fork_process(1, PARENT);
    map_file(PARENT, 0x1000, 1, "/no/such/tool");
    serial = processes_find(table, PARENT)->serial;
    start = processes_find(table, PARENT)->start_ns;
    now_ns += NS_PER_S; /* its end goes unseen */
    fork_process(1, PARENT);
    assert_true(processes_find(table, PARENT)->serial != serial);
    assert_true(processes_find(table, PARENT)->start_ns > start);
    assert_null(processes_map(table, PARENT, 0x1000));
}

static void one_build_id_is_one_binary(void **state)
{
    const struct binary *b;

    (void)state;
    fork_process(1, PARENT);
    fork_process(1, CHILD);
    map_file(PARENT, 0x1000, 9, "/one/path");
    map_file(CHILD, 0x5000, 9, "/another/path");
    map_file(CHILD, 0x9000, 8, "/one/path");
    b = processes_map(table, PARENT, 0x1000)->binary;
    assert_ptr_equal(processes_map(table, CHILD, 0x5000)->binary, b);
    assert_string_equal(b->path, "/one/path");
    assert_int_not_equal(processes_map(table, CHILD, 0x9000)->binary->index, b->index);
    assert_int_equal(processes_read_counters(table).binaries, 2);
}

/* Each in the place of the one before: all but the last are soon mapped by nobody. */
static void map_numbered(uint32_t number)
{
    struct sideband_event e = {.kind = SIDEBAND_MMAP,
                               .pid = PARENT,
                               .tid = PARENT,
                               .start = 0x1000,
                               .length = 0x1000,
                               .build_id = {.length = 20},
                               .path = "/no/such/library.so"};

    memcpy(e.build_id.bytes, &number, sizeof(number));
    e.build_id.bytes[19] = 1;
    apply(e);
}

static void binaries_that_nobody_maps_any_more_make_room(void **state)
{
    const struct binary *kept, *latest;

    (void)state;
    fork_process(1, PARENT);
    fork_process(1, CHILD);
    map_file(CHILD, 0x1000, 1, "/no/such/tool"); /* the oldest, and still in use */
    kept = processes_map(table, CHILD, 0x1000)->binary;
    for (uint32_t i = 0; i < 3 * BINARIES_MAX; i++)
        map_numbered(i);
    latest = processes_map(table, PARENT, 0x1000)->binary;
    assert_true(processes_read_counters(table).binaries < BINARIES_MAX);
    assert_int_equal(processes_read_counters(table).mappings_refused, 0);
    assert_true(processes_read_counters(table).dropped_binaries > 2 * BINARIES_MAX);
    assert_ptr_equal(processes_map(table, CHILD, 0x1000)->binary, kept);
    assert_int_equal(kept->id.bytes[0], 1);
    assert_int_equal(latest->index, 3 * BINARIES_MAX); /* no number is used twice */
}

static void when_all_are_mapped_the_limit_is_counted(void **state)
{
    (void)state;
    fork_process(1, PARENT);
    fork_process(1, CHILD);
    for (uint32_t i = 0; i < BINARIES_MAX + 100; i++) {
        struct sideband_event e = {.kind = SIDEBAND_MMAP,
                                   .pid = i % 2 == 0 ? PARENT : CHILD,
                                   .start = 0x1000 * (uint64_t)(i + 1),
                                   .length = 0x1000,
                                   .build_id = {.length = 20},
                                   .path = "/no/such/library.so"};

        memcpy(e.build_id.bytes, &i, sizeof(i));
        e.build_id.bytes[19] = 1;
        apply(e);
    }
    assert_int_equal(processes_read_counters(table).binaries, BINARIES_MAX);
    assert_int_equal(processes_read_counters(table).dropped_binaries, 0);
    assert_int_equal(processes_read_counters(table).mappings_refused, 100);
}

static void memory_without_a_file_has_no_binary(void **state)
{
    static const char *const names[] = {"//anon", "[heap]", "/memfd:jit (deleted)", "",
                                        "/dev/zero (deleted)"};

    (void)state;
    fork_process(1, PARENT);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        map_file(PARENT, 0x10000 * (i + 1), 0, names[i]);
        assert_null(processes_map(table, PARENT, 0x10000 * (i + 1))->binary);
    }
    assert_int_equal(processes_read_counters(table).unreadable_binaries, 0);
}

static void a_file_that_cannot_be_read_is_counted_and_keeps_its_path(void **state)
{
    const struct binary *b;

    (void)state;
    fork_process(1, PARENT);
    map_file(PARENT, 0x1000, 0, "/no/such/library.so");
    b = processes_map(table, PARENT, 0x1000)->binary;
    assert_int_equal(b->id.length, 0);
    assert_string_equal(b->path, "/no/such/library.so");
    assert_int_equal(processes_read_counters(table).unreadable_binaries, 1);
}

static void impossible_mappings_are_counted(void **state)
{
    struct sideband_event e = {.kind = SIDEBAND_MMAP,
                               .pid = PARENT,
                               .start = UINT64_MAX - 10,
                               .length = 100,
                               .path = "//anon"};

    (void)state;
    fork_process(1, PARENT);
    apply(e);
    assert_int_equal(processes_read_counters(table).mappings_refused, 1);
}

static void a_full_table_gives_up_the_one_that_was_not_asked_for(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < PROCESSES_MAX; i++)
        fork_process(PARENT - 1, FIRST_PID + i);
    assert_non_null(processes_find(table, FIRST_PID)); /* the oldest, but needed */
    fork_process(PARENT - 1, FIRST_PID + PROCESSES_MAX);
    assert_int_equal(processes_read_counters(table).evicted, 1);
    assert_int_equal(processes_read_counters(table).processes, PROCESSES_MAX);
    assert_non_null(processes_find(table, FIRST_PID));
    assert_null(processes_find(table, FIRST_PID + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TABLE(a_child_has_its_parents_mappings_until_it_becomes_another_program),
        WITH_TABLE(an_exec_is_a_new_serial_and_a_rename_is_not),
        WITH_TABLE(a_process_lives_as_long_as_one_thread),
        WITH_TABLE(an_ended_process_can_be_asked_for_a_little_longer),
        WITH_TABLE(a_pid_that_is_used_again_is_a_new_process),
        WITH_TABLE(one_build_id_is_one_binary),
        WITH_TABLE(binaries_that_nobody_maps_any_more_make_room),
        WITH_TABLE(when_all_are_mapped_the_limit_is_counted),
        WITH_TABLE(memory_without_a_file_has_no_binary),
        WITH_TABLE(a_file_that_cannot_be_read_is_counted_and_keeps_its_path),
        WITH_TABLE(impossible_mappings_are_counted),
        WITH_TABLE(a_full_table_gives_up_the_one_that_was_not_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
