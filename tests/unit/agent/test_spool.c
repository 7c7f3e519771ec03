/* spool: what is added is there until it is acknowledged, and what is dropped is counted. */
#include "agent/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/chunk.h"

enum { PATH_MAX_BYTES = 512, BLOCK = 4096, PLENTY = 1 << 30 };

static const struct wall now = {UINT64_C(1700000000) * NS_PER_S};

struct place { /* a directory of this test's own */
    char root[PATH_MAX_BYTES];
    char spool[PATH_MAX_BYTES + 16];
};

static int make_place(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    const char *base = getenv("TMPDIR");

    if (p == NULL)
        return -1;
    snprintf(p->root, sizeof(p->root), "%s/spool-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(p->root) == NULL)
        return -1;
    snprintf(p->spool, sizeof(p->spool), "%s/spool", p->root);
    *state = p;
    return 0;
}

static void visit_files(const char *directory, void (*visit)(const char *path))
{
    DIR *d = opendir(directory);
    char path[2 * PATH_MAX_BYTES];

    if (d == NULL)
        return;
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
        if (e->d_name[0] != '.')
            visit(path);
    }
    closedir(d);
}

static void remove_file(const char *path)
{
    (void)remove(path);
}

static int remove_place(void **state)
{
    struct place *p = *state;

    visit_files(p->spool, remove_file);
    visit_files(p->root, remove_file);
    (void)rmdir(p->root);
    free(p);
    return 0;
}

static unsigned file_count;

static void count_file(const char *path)
{
    (void)path;
    file_count++;
}

static unsigned files_in(const struct place *p)
{
    file_count = 0;
    visit_files(p->spool, count_file);
    return file_count;
}

static struct spool *open_bounded(const struct place *p, uint64_t bytes_max, struct wall when)
{
    struct spool_options options = {p->spool, bytes_max, 3600 * NS_PER_S};
    struct spool *s = NULL;

    assert_int_equal(spool_open(&options, when, &s), ST_OK);
    return s;
}

static struct spool *open_spool(const struct place *p)
{
    return open_bounded(p, PLENTY, now);
}

static struct slice text(const char *t)
{
    return (struct slice){(const uint8_t *)t, strlen(t)};
}

static struct wall later(uint64_t seconds)
{
    return (struct wall){now.ns + seconds * NS_PER_S};
}

/* Adds `t` as a chunk of ten samples. */
static uint64_t add_at(struct spool *s, const char *t, struct wall when)
{
    uint64_t number = 0;

    assert_int_equal(spool_add(s, text(t), 10, when, &number), ST_OK);
    return number;
}

static uint64_t add(struct spool *s, const char *t)
{
    return add_at(s, t, now);
}

/* The chunk after `after` is `t`; returns its number. */
static uint64_t expect_next(struct spool *s, uint64_t after, const char *t)
{
    struct blob b = {0};
    uint64_t number = 0;

    assert_int_equal(spool_next(s, after, &number, &b), ST_OK);
    assert_int_equal(b.length, strlen(t));
    assert_memory_equal(b.bytes, t, b.length);
    assert_true(number > after);
    blob_deinit(&b);
    return number;
}

static void expect_none(struct spool *s, uint64_t after)
{
    struct blob untouched = {0};
    uint64_t number = 77;

    assert_int_equal(spool_next(s, after, &number, &untouched), ST_NOT_FOUND);
    assert_int_equal(number, 77);
    assert_null(untouched.bytes);
}

/* ---- one life ---- */

static void chunks_come_back_in_order_as_often_as_asked(void **state)
{
    struct spool *s = open_spool(*state);

    expect_none(s, 0);
    assert_int_equal(add(s, "one"), 1);
    assert_int_equal(add(s, "two"), 2);
    assert_int_equal(add(s, "three"), 3);
    assert_int_equal(expect_next(s, 0, "one"), 1);
    assert_int_equal(expect_next(s, 1, "two"), 2);
    assert_int_equal(expect_next(s, 2, "three"), 3);
    expect_none(s, 3);
    assert_int_equal(expect_next(s, 0, "one"), 1);
    spool_close(s);
    spool_close(NULL);
}

static void an_acknowledgement_deletes_all_up_to_it(void **state)
{
    struct spool *s = open_spool(*state);

    for (int i = 0; i < 200; i++) /* more than the first allocation, and round it */
        add(s, "chunk");
    spool_acknowledge(s, 150);
    assert_int_equal(files_in(*state), 50);
    assert_int_equal(spool_read_counters(s).chunks, 50);
    assert_int_equal(expect_next(s, 0, "chunk"), 151);
    assert_int_equal(expect_next(s, 180, "chunk"), 181);
    spool_acknowledge(s, 150);
    assert_int_equal(add(s, "new"), 201);
    spool_acknowledge(s, UINT64_MAX);
    assert_int_equal(files_in(*state), 0);
    assert_int_equal(spool_read_counters(s).bytes, 0);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 0);
    assert_int_equal(add(s, "newer"), 202);
    spool_close(s);
}

static void over_the_bound_the_oldest_goes_first(void **state)
{
    struct spool *s = open_bounded(*state, 3 * BLOCK, now);
    struct spool_counters c;

    add(s, "one");
    add(s, "two");
    add(s, "three");
    assert_int_equal(spool_read_counters(s).bytes, 3 * BLOCK);
    add(s, "four");
    c = spool_read_counters(s);
    assert_int_equal(c.chunks, 3);
    assert_int_equal(c.bytes, 3 * BLOCK);
    assert_int_equal(c.dropped_chunks, 1);
    assert_int_equal(c.dropped_samples, 10);
    expect_next(s, 0, "two");
    assert_int_equal(files_in(*state), 3);
    spool_close(s);
}

static void a_chunk_over_the_bound_drops_itself_and_no_other(void **state)
{
    static uint8_t big[2 * BLOCK + 1];
    struct spool *s = open_bounded(*state, 2 * BLOCK, now);
    uint64_t number = 77;

    add(s, "small");
    assert_int_equal(spool_add(s, (struct slice){big, sizeof(big)}, 10, now, &number), ST_NO_SPACE);
    assert_int_equal(spool_add(s, (struct slice){big, 0}, 10, now, &number), ST_INVALID);
    assert_int_equal(number, 77);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 2);
    assert_int_equal(spool_read_counters(s).dropped_samples, 20);
    expect_next(s, 0, "small");
    spool_close(s);
}

static void what_is_too_old_goes(void **state)
{
    struct spool *s = open_spool(*state);

    add(s, "old");
    add_at(s, "young", later(60));
    spool_expire(s, later(3600));
    assert_int_equal(spool_read_counters(s).chunks, 2);
    spool_expire(s, later(3601));
    assert_int_equal(spool_read_counters(s).chunks, 1);
    assert_int_equal(spool_read_counters(s).dropped_samples, 10);
    expect_next(s, 0, "young");
    spool_expire(s, (struct wall){0}); /* a clock that was set back makes nothing old */
    assert_int_equal(spool_read_counters(s).chunks, 1);
    spool_close(s);
}

/* ---- over a restart ---- */

static void a_restart_takes_up_what_was_left_before_anything_new(void **state)
{
    struct spool *s = open_spool(*state);

    add(s, "one");
    add(s, "two");
    add_at(s, "three", (struct wall){1}); /* the clock was set back: order is order of adding */
    spool_acknowledge(s, 1);
    spool_close(s);

    s = open_spool(*state);
    assert_int_equal(spool_read_counters(s).chunks, 2);
    assert_int_equal(spool_read_counters(s).bytes, 2 * BLOCK);
    assert_int_equal(add(s, "four"), 3);
    assert_int_equal(expect_next(s, 0, "two"), 1);
    spool_close(s);

    s = open_spool(*state);
    assert_int_equal(expect_next(s, 0, "two"), 1);
    assert_int_equal(expect_next(s, 1, "three"), 2);
    assert_int_equal(expect_next(s, 2, "four"), 3);
    expect_none(s, 3);
    spool_close(s);
}

static void bounds_hold_for_what_was_left(void **state)
{
    struct spool *s = open_spool(*state);

    add(s, "expired");
    add_at(s, "too many", later(3000));
    add_at(s, "kept", later(3000));
    spool_close(s);

    s = open_bounded(*state, BLOCK, later(4000));
    assert_int_equal(spool_read_counters(s).chunks, 1);
    assert_int_equal(spool_read_counters(s).dropped_chunks, 2);
    assert_int_equal(spool_read_counters(s).dropped_samples, 20);
    expect_next(s, 0, "kept");
    spool_close(s);
}

static void a_time_to_come_ages_from_when_it_was_taken_up(void **state)
{
    struct spool *s = open_spool(*state);

    add_at(s, "from the future", later(100000));
    spool_close(s);
    s = open_spool(*state);
    spool_expire(s, later(3601));
    assert_int_equal(spool_read_counters(s).chunks, 0);
    spool_close(s);
}

static void two_agents_do_not_share_a_spool(void **state)
{
    const struct place *p = *state;
    struct spool_options options = {p->spool, PLENTY, NS_PER_S};
    struct spool *s = open_spool(p), *other = NULL;

    assert_int_equal(spool_open(&options, now, &other), ST_EXISTS);
    assert_null(other);
    spool_close(s);
    assert_int_equal(spool_open(&options, now, &other), ST_OK);
    spool_close(other);
}

static void a_place_that_cannot_be_is_an_error(void **state)
{
    const struct place *p = *state;
    char path[PATH_MAX_BYTES + 16];
    struct spool_options options = {path, PLENTY, NS_PER_S};
    struct spool *untouched = NULL;
    FILE *f;

    snprintf(path, sizeof(path), "%s/none/spool", p->root);
    assert_int_equal(spool_open(&options, now, &untouched), ST_NOT_FOUND);
    snprintf(path, sizeof(path), "%s/file", p->root);
    f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    assert_int_not_equal(spool_open(&options, now, &untouched), ST_OK);
    assert_null(untouched);
}

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

static void the_directory_and_the_files_are_for_us_alone(void **state)
{
    const struct place *p = *state;
    struct spool *s = open_spool(p);
    struct stat st;

    assert_int_equal(stat(p->spool, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chunks_come_back_in_order_as_often_as_asked),
        TEST(an_acknowledgement_deletes_all_up_to_it),
        TEST(over_the_bound_the_oldest_goes_first),
        TEST(a_chunk_over_the_bound_drops_itself_and_no_other),
        TEST(what_is_too_old_goes),
        TEST(a_restart_takes_up_what_was_left_before_anything_new),
        TEST(bounds_hold_for_what_was_left),
        TEST(a_time_to_come_ages_from_when_it_was_taken_up),
        TEST(two_agents_do_not_share_a_spool),
        TEST(a_place_that_cannot_be_is_an_error),
        TEST(a_damaged_file_is_counted_and_the_next_one_comes),
        TEST(damage_in_the_middle_leaves_the_rest_in_order),
        TEST(what_a_crash_left_half_written_is_removed_and_counted),
        TEST(files_that_are_not_ours_are_left_alone),
        TEST(the_directory_and_the_files_are_for_us_alone),
        TEST(a_full_disk_drops_the_new_chunk_and_leaves_no_rest_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
