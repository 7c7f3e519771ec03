/* The store when the world ends: its process is killed, or its disk is full. Every write that was
 * reported done is there, once. */
#include "tests/unit/store/fixture.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ROUNDS = 24,
    REPEATED = 2, /* chunks sent again after a crash, as from a spool */
    BALLAST_BYTES = 13 << 20, /* of a disk of 16 MiB */
    BIG_BYTES = 24 << 20,
};

/* ---- kill -9 ---- */

/* Writes until it is killed, across midnights; reports each write that is done. */
static void write_for_ever(struct fixture *f, uint64_t from, int report)
{
    for (uint64_t i = from;; i++) {
        struct chunk_info info = test_info(test_id(1), i, NOON + i * (DAY_NS / 16));
        enum status st = fixture_put_chunk(f, &info, "stored form of a chunk");

        if ((st != ST_OK && st != ST_EXISTS) || write(report, &i, sizeof(i)) != sizeof(i))
            _exit(1);
    }
}

/* Kills it after so many reports and so many microseconds more; the last one that it made. */
static uint64_t kill_after(pid_t child, int reports, uint64_t count, useconds_t more)
{
    uint64_t last = 0;
    uint64_t n = 0;

    while (n < count && read(reports, &last, sizeof(last)) == sizeof(last))
        n++;
    (void)usleep(more); /* somewhere inside a write: the point of the test, not a wait for it */
    assert_int_equal(kill(child, SIGKILL), 0);
    while (read(reports, &n, sizeof(n)) == sizeof(n))
        last = n;
    assert_int_equal(waitpid(child, NULL, 0), child);
    return last;
}

static uint64_t one_life(struct fixture *f, uint64_t done, unsigned *seed)
{
    uint64_t first = done > REPEATED ? done - REPEATED : 1;
    uint64_t last;
    int ends[2];
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        fixture_open(f);
        write_for_ever(f, first, ends[1]);
    }
    close(ends[1]);
    last = kill_after(child, ends[0], (uint64_t)rand_r(seed) % 8, (useconds_t)rand_r(seed) % 3000);
    close(ends[0]);
    return last > done ? last : done;
}

static enum status next_sequence(void *arg, const struct ledger_row *row)
{
    uint64_t *expected = arg;

    assert_int_equal(row->sequence, *expected);
    ++*expected;
    return ST_OK;
}

/* Without a gap and none twice, by profiler and by time; how many. */
static uint64_t stored_in_order(struct fixture *f)
{
    uint64_t by_sequence = 1;
    uint64_t by_time = 1;
    struct store_view *v;

    assert_ok(store_view_open(f->store, &v));
    assert_ok(store_view_profiler(v, test_id(1), next_sequence, &by_sequence));
    assert_ok(
        store_view_ledger(v, (struct wall){0}, (struct wall){UINT64_MAX}, next_sequence, &by_time));
    store_view_close(v);
    assert_int_equal(by_sequence, by_time);
    return by_time - 1;
}

static void kill_9_loses_nothing_that_was_done_and_doubles_nothing(void **state)
{
    struct fixture *f = *state;
    const char *given = getenv("TEST_SEED");
    unsigned seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : (unsigned)random_u64();
    uint64_t done = 0;

    print_message("# TEST_SEED=%u\n", seed);
    fixture_close(f);
    for (int round = 0; round < ROUNDS; round++) {
        done = one_life(f, done, &seed);
        fixture_open(f);
        assert_true(stored_in_order(f) >= done); /* more may be durable and unreported */
        fixture_close(f);
    }
    assert_true(done > ROUNDS);
}

/* ---- a full disk ---- */

static void assert_record(struct fixture *f, const char *key, enum status expected)
{
    struct store_view *v;
    struct slice value;

    assert_ok(store_view_open(f->store, &v));
    assert_int_equal(store_view_get(v, STORE_SESSIONS, text_slice(key), &value), expected);
    store_view_close(v);
}

static void fill(const char *path)
{
    char *bytes = calloc(1, BALLAST_BYTES);
    FILE *file = fopen(path, "w");

    assert_non_null(bytes);
    assert_non_null(file);
    assert_true(fwrite(bytes, 1, BALLAST_BYTES, file) > 0);
    (void)fclose(file);
    free(bytes);
}

static void a_full_disk_refuses_and_recovers(void **state)
{
    struct fixture *f = *state;
    char ballast[FIXTURE_PATH_MAX + 16];
    char *big;

    fixture_close(f);
    if (geteuid() != 0 || mount("tmpfs", f->directory, "tmpfs", 0, "size=16m") != 0) {
        print_message("SKIPPED: needs root to mount a small tmpfs\n");
        skip();
    }
    fixture_open(f);
    assert_ok(fixture_put(f, STORE_SESSIONS, "small", "kept"));
    (void)snprintf(ballast, sizeof(ballast), "%s/ballast", f->directory);
    fill(ballast);
    big = malloc(BIG_BYTES);
    assert_non_null(big);
    memset(big, 'x', BIG_BYTES - 1);
    big[BIG_BYTES - 1] = '\0';

    assert_int_equal(fixture_put(f, STORE_SESSIONS, "big", big), ST_NO_SPACE);
    assert_true(store_read_counters(f->store).disk_full);
    assert_record(f, "small", ST_OK);

    assert_int_equal(unlink(ballast), 0);
    assert_ok(fixture_put(f, STORE_SESSIONS, "after", "space"));
    assert_false(store_read_counters(f->store).disk_full);
    fixture_reopen(f);
    assert_record(f, "after", ST_OK);
    assert_record(f, "big", ST_NOT_FOUND);

    fixture_close(f);
    assert_int_equal(umount(f->directory), 0);
    free(big);
}

#define test(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(kill_9_loses_nothing_that_was_done_and_doubles_nothing),
        test(a_full_disk_refuses_and_recovers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
