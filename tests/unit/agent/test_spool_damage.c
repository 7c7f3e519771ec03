/* spool: files that are damaged, half written, not ours, or that the disk has no room for. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/unit/agent/spool_place.h"

/* ---- damage ---- */

static void cut_short(const char *path)
{
    assert_int_equal(truncate(path, 2), 0);
}

static void cut_to_nothing(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void turn_a_byte(const char *path)
{
    int fd = open(path, O_WRONLY);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, "#", 1, 1), 1);
    close(fd);
}

static void leave_half_written(const char *path)
{
    char fresh[2 * PATH_MAX_BYTES];

    snprintf(fresh, sizeof(fresh), "%s.new", path);
    assert_int_equal(rename(path, fresh), 0);
}

static void a_damaged_file_is_counted_and_the_next_one_comes(void **state)
{
    static void (*const damages[])(const char *path) = {cut_short, cut_to_nothing, turn_a_byte,
                                                        remove_file};
    const struct place *p = *state;
    struct spool *s = open_spool(p);
    const uint64_t count = sizeof(damages) / sizeof(damages[0]);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t number = add(s, "to be damaged");

        visit_files(p->spool, damages[i]);
        add(s, "sound");
        expect_next(s, number - 1, "sound");
        spool_acknowledge(s, UINT64_MAX);
        assert_int_equal(files_in(p), 0);
        assert_int_equal(spool_read_counters(s).dropped_chunks, i + 1);
    }
    assert_int_equal(spool_read_counters(s).dropped_samples, 10 * count);
    spool_close(s);
}

/* Only of the chunk "bad". */
static void turn_a_byte_of_bad(const char *path)
{
    char start[4] = {0};
    int fd = open(path, O_RDONLY);

    assert_true(fd >= 0);
    assert_int_equal(read(fd, start, 3), 3);
    close(fd);
    if (strcmp(start, "bad") == 0)
        turn_a_byte(path);
}

static void damage_in_the_middle_leaves_the_rest_in_order(void **state)
{
    const struct place *p = *state;
    struct spool *s = open_spool(p);

    add(s, "one");
    add(s, "bad");
    add(s, "three");
    add(s, "four");
    visit_files(p->spool, turn_a_byte_of_bad);
    assert_int_equal(expect_next(s, 1, "three"), 3);
    assert_int_equal(spool_read_counters(s).chunks, 3);
    assert_int_equal(spool_read_counters(s).bytes, 3 * BLOCK);
    assert_int_equal(expect_next(s, 0, "one"), 1);
    assert_int_equal(expect_next(s, 3, "four"), 4);
    spool_close(s);
}

static void what_a_crash_left_half_written_is_removed_and_counted(void **state)
{
    const struct place *p = *state;
    struct spool *s = open_spool(p);

    add(s, "half");
    spool_close(s);
    visit_files(p->spool, leave_half_written);
    assert_int_equal(files_in(p), 1);

    s = open_spool(p);
    assert_int_equal(files_in(p), 0);
    assert_int_equal(spool_read_counters(s).chunks, 0);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 1);
    assert_int_equal(spool_read_counters(s).dropped_samples, 10);
    assert_int_equal(add(s, "new"), 1);
    spool_close(s);
}

static void files_that_are_not_ours_are_left_alone(void **state)
{
    static const char *const names[] = {
        "notes.txt",
        "chunk-",
        "chunk-1-2-3-4",
        "chunk-0000000000000001-0000000000000002-00000003-000000000000000G",
        "chunk-0000000000000001-0000000000000002-00000003-0000000000000004.old",
        "chunk-000000000000000A-0000000000000002-00000003-0000000000000004",
        "chunk-ffffffffffffffff-0000000000000002-00000003-0000000000000004",
    };
    const unsigned count = sizeof(names) / sizeof(names[0]);
    const struct place *p = *state;
    struct spool *s;
    char path[2 * PATH_MAX_BYTES];

    spool_close(open_spool(p));
    for (unsigned i = 0; i < count; i++) {
        FILE *f;

        snprintf(path, sizeof(path), "%s/%s", p->spool, names[i]);
        f = fopen(path, "w");
        assert_non_null(f);
        fclose(f);
    }
    snprintf(path, sizeof(path), "%s/%s", p->spool,
             "chunk-0000000000000001-0000000000000002-00000003-0000000000000004");
    assert_int_equal(mkdir(path, 0700), 0);

    s = open_bounded(p, BLOCK, now);
    add(s, "one");
    add(s, "two");
    spool_acknowledge(s, UINT64_MAX);
    assert_int_equal(files_in(p), count + 1);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 1);
    spool_close(s);
}

/* ---- a full disk ---- */

static void a_full_disk_drops_the_new_chunk_and_leaves_no_rest_of_it(void **state)
{
    static uint8_t big[16 * BLOCK];
    const struct place *p = *state;
    struct slice chunk = {big, sizeof(big)};
    struct spool_counters c;
    struct spool *s;
    uint64_t number = 0, added = 0;
    enum status st = ST_OK, again;
    unsigned files;

    spool_close(open_spool(p));
    if (mount("tmpfs", p->spool, "tmpfs", 0, "size=256k") != 0) {
        print_message("cannot mount a small file system here\n");
        skip();
    }
    s = open_spool(p);
    for (; st == ST_OK && added < 100; added += st == ST_OK)
        st = spool_add(s, chunk, 10, now, &number);
    c = spool_read_counters(s);
    spool_acknowledge(s, 1);
    again = spool_add(s, chunk, 10, now, &number);
    files = files_in(p);
    spool_close(s);
    assert_int_equal(umount(p->spool), 0);

    assert_int_equal(st, ST_NO_SPACE);
    assert_in_range(added, 2, 4); /* of 64 KiB */
    assert_int_equal(again, ST_OK); /* one left, one came */
    assert_int_equal(files, added);
    assert_int_equal(c.chunks, added);
    assert_int_equal(c.dropped_chunks, 1);
    assert_int_equal(c.dropped_samples, 10);
    assert_int_equal(number, added + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_damaged_file_is_counted_and_the_next_one_comes),
        TEST(damage_in_the_middle_leaves_the_rest_in_order),
        TEST(what_a_crash_left_half_written_is_removed_and_counted),
        TEST(files_that_are_not_ours_are_left_alone),
        TEST(a_full_disk_drops_the_new_chunk_and_leaves_no_rest_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
