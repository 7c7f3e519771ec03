/* tables: built when used, shared, bounded, and given up in the order of their last use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/support/elf_image.h"
#include "tests/unit/agent/tables_world.h"

#define LIBCRYPTO "/usr/lib/x86_64-linux-gnu/libcrypto.so.3" /* more rows than a shard has */

static void expect_rows_of(struct tables_world *w, uint32_t binary)
{
    struct file_rows rows = {0};
    const struct table_piece *pieces;
    uint32_t count, at = 0;
    int fd = open(w->files[binary], O_RDONLY | O_CLOEXEC);

    assert_int_equal(tables_state(w->tables, binary), TABLE_READY);
    assert_int_equal(file_rows_read(fd, &rows), ST_OK);
    pieces = tables_pieces(w->tables, binary, &count);
    assert_int_equal(tables_file(w->tables, binary)->base, rows.base);
    for (uint32_t i = 0; i < count; i++) {
        const struct region *r = &pieces[i].region;

        assert_int_equal(pieces[i].pc, rows.items[at].pc);
        assert_memory_equal(kernel_maps_shard(w->maps, r->shard)->rows + r->first, rows.items + at,
                            r->count * sizeof(*rows.items));
        at += r->count;
    }
    assert_int_equal(at, rows.count);
    file_rows_deinit(&rows);
    close(fd);
}

static void a_table_is_built_when_it_is_first_used(void **state)
{
    struct tables_world w = {.files = {LIBC}};

    (void)state;
    world_open(&w, 0);
    assert_int_equal(tables_state(w.tables, 0), TABLE_UNKNOWN);
    assert_int_equal(world_use(&w, 0), TABLE_WANTED);
    assert_int_equal(world_use(&w, 0), TABLE_WANTED);
    assert_int_equal(w.changes[0], 0);
    world_settle(&w);
    assert_int_equal(w.changes[0], 1);
    assert_int_equal(world_use(&w, 0), TABLE_READY);
    expect_rows_of(&w, 0);
    assert_int_equal(tables_read_counters(w.tables).built, 1);
    assert_int_equal(tables_read_counters(w.tables).bytes, sizeof(struct abi_shard));
    world_close(&w);
}

static void a_large_table_takes_several_shards(void **state)
{
    struct tables_world w = {.files = {LIBCRYPTO}};
    uint32_t count = 0;

    (void)state;
    if (access(LIBCRYPTO, R_OK) != 0)
        skip();
    world_open(&w, 0);
    (void)world_use(&w, 0);
    world_settle(&w);
    (void)tables_pieces(w.tables, 0, &count);
    assert_true(count > 1);
    expect_rows_of(&w, 0);
    world_close(&w);
}

static void a_file_that_cannot_be_had_or_read_has_failed(void **state)
{
    struct tables_world w = {.files = {NULL, "/etc/passwd"}};

    (void)state;
    world_open(&w, 0);
    (void)world_use(&w, 0);
    (void)world_use(&w, 1);
    world_settle(&w);
    assert_int_equal(world_use(&w, 0), TABLE_FAILED);
    assert_int_equal(world_use(&w, 1), TABLE_FAILED);
    assert_int_equal(tables_read_counters(w.tables).failed, 2);
    world_close(&w);
}

static void a_file_without_unwind_information_has_none(void **state)
{
    struct elf_image image = elf_image_make("GNU", 3);
    struct tables_world w = {0};
    char path[64];
    int fd = memfd_create("bare", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(write(fd, &image, sizeof(image)), sizeof(image));
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    w.files[0] = path;
    world_open(&w, 0);
    (void)world_use(&w, 0);
    world_settle(&w);
    assert_int_equal(tables_state(w.tables, 0), TABLE_NONE);
    world_close(&w);
    close(fd);
}

/* Two of libc's tables fill a shard: room for a third is made by the one that was used first. */
static void the_table_that_was_used_the_longest_ago_makes_room(void **state)
{
    struct tables_world w = {.files = {LIBC, LIBC, LIBC}};

    (void)state;
    world_open(&w, 1);
    for (uint32_t i = 0; i < 2; i++) {
        (void)world_use(&w, i);
        world_settle(&w);
    }
    world_pass(&w, TABLES_HOT_NS);
    (void)world_use(&w, 1);
    (void)world_use(&w, 2);
    for (int i = 0; i < 10000 && tables_state(w.tables, 0) == TABLE_READY; i++) {
        tables_run(w.tables, w.now);
        usleep(1000);
    }
    assert_int_equal(tables_state(w.tables, 0), TABLE_EVICTED);
    assert_int_equal(w.changes[0], 2);
    world_pass(&w, TABLES_GRACE_NS - 1);
    assert_int_equal(tables_state(w.tables, 2), TABLE_BUILDING); /* walks may still read the rows */
    world_pass(&w, 1);
    assert_int_equal(tables_state(w.tables, 1), TABLE_READY);
    expect_rows_of(&w, 2);
    assert_int_equal(tables_read_counters(w.tables).evicted, 1);
    world_close(&w);
}

static void where_all_are_in_use_a_new_one_is_refused_for_a_while(void **state)
{
    struct tables_world w = {.files = {LIBC, LIBC, LIBC}};

    (void)state;
    world_open(&w, 1);
    for (uint32_t i = 0; i < 3; i++)
        (void)world_use(&w, i);
    world_settle(&w);
    assert_int_equal(tables_state(w.tables, 2), TABLE_EVICTED);
    assert_int_equal(tables_read_counters(w.tables).refused, 1);
    assert_int_equal(world_use(&w, 2), TABLE_EVICTED);
    world_pass(&w, TABLES_RETRY_NS);
    assert_int_equal(world_use(&w, 2), TABLE_WANTED);
    world_close(&w);
}

static void what_is_known_of_a_binary_without_a_table_is_forgotten(void **state)
{
    struct tables_world w = {.files = {NULL, LIBC}};

    (void)state;
    world_open(&w, 0);
    (void)world_use(&w, 0);
    (void)world_use(&w, 1);
    world_settle(&w);
    world_pass(&w, TABLES_FORGET_NS);
    assert_int_equal(tables_state(w.tables, 0), TABLE_UNKNOWN);
    assert_int_equal(tables_state(w.tables, 1), TABLE_READY);
    world_close(&w);
}

static void many_are_built_in_turn(void **state)
{
    struct tables_world w = {0};

    (void)state;
    world_open(&w, 0);
    for (uint32_t i = 0; i < 30; i++) {
        w.files[i] = "/proc/self/exe";
        (void)world_use(&w, i);
    }
    world_settle(&w);
    for (uint32_t i = 0; i < 30; i++)
        assert_int_equal(tables_state(w.tables, i), TABLE_READY);
    world_close(&w);
}

static void closing_with_work_in_hand_leaves_nothing(void **state)
{
    struct tables_world w = {0};

    (void)state;
    world_open(&w, 0);
    for (uint32_t i = 0; i < 30; i++) {
        w.files[i] = LIBC;
        (void)world_use(&w, i);
    }
    tables_run(w.tables, w.now);
    world_close(&w); /* and no leak, which the sanitizer would report */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_built_when_it_is_first_used),
        cmocka_unit_test(a_large_table_takes_several_shards),
        cmocka_unit_test(a_file_that_cannot_be_had_or_read_has_failed),
        cmocka_unit_test(a_file_without_unwind_information_has_none),
        cmocka_unit_test(the_table_that_was_used_the_longest_ago_makes_room),
        cmocka_unit_test(where_all_are_in_use_a_new_one_is_refused_for_a_while),
        cmocka_unit_test(what_is_known_of_a_binary_without_a_table_is_forgotten),
        cmocka_unit_test(many_are_built_in_turn),
        cmocka_unit_test(closing_with_work_in_hand_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
