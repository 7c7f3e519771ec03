/* jit: perf maps of this test itself and of its children, and of processes that are none of ours.
 */
#include "agent/process/jit.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/process/snapshot.h"

#define FAR_FUTURE_NS (UINT64_C(1) << 62) /* a child that began after the map was written */

static struct jit_pool pool;
static struct jit *jit;
static char path[64];
static struct mono now = {NS_PER_S};

/* A map of this process: it is its own judge. */
static int make(void **state)
{
    struct snapshot self;

    (void)state;
    (void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
    if (snapshot_read_life((uint32_t)getpid(), &self) != ST_OK)
        return -1;
    pool = (struct jit_pool){0};
    return jit_new(&pool, (uint32_t)getpid(), self.start_ns, 0, &jit) == ST_OK ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    jit_free(jit);
    (void)unlink(path);
    return pool.bytes == 0 ? 0 : -1;
}

static void write_map(const char *mode, const char *text)
{
    FILE *f = fopen(path, mode);

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static bool follow_after(uint64_t ns)
{
    now.ns += ns;
    return jit_follow(jit, now);
}

static void expect(uint64_t address, const char *name)
{
    if (name == NULL)
        assert_null(jit_find(jit, address));
    else
        assert_string_equal(jit_find(jit, address), name);
}

static void what_is_added_is_found_at_the_next_look(void **state)
{
    (void)state;
    write_map("w", "1000 10 one\n2000 10 tw");
    assert_true(follow_after(0));
    expect(0x1000, "one");
    expect(0x2000, NULL);
    write_map("a", "o\n1000 10 newer\n");
    assert_true(follow_after(NS_PER_S));
    expect(0x1000, "newer");
    expect(0x2000, "two");
}

static void a_map_is_not_looked_at_more_than_ten_times_a_second(void **state)
{
    (void)state;
    write_map("w", "1000 10 one\n");
    assert_true(follow_after(0));
    write_map("a", "2000 10 two\n");
    assert_false(follow_after(99 * NS_PER_MS));
    assert_true(follow_after(1 * NS_PER_MS));
}

static void a_map_that_does_not_grow_is_looked_at_less_and_less(void **state)
{
    uint32_t looks = 0;

    (void)state;
    write_map("w", "1000 10 one\n");
    assert_true(follow_after(0));
    for (int i = 0; i < 100; i++) /* 100 s */
        looks += follow_after(NS_PER_S);
    assert_int_equal(looks, 0);
    write_map("a", "2000 10 two\n");
    assert_false(follow_after(100 * NS_PER_MS)); /* it waits longer now */
    assert_null(jit_find(jit, 0x2000)); /* and sooner looks again when a name is missing */
    assert_true(follow_after(NS_PER_S));
    expect(0x2000, "two");
}

static void a_map_that_is_written_anew_is_read_anew(void **state)
{
    (void)state;
    write_map("w", "1000 10 one\n2000 10 two\n");
    assert_true(follow_after(0));
    write_map("w", "1000 10 uno\n3000 10 tre\n4000 10 quattro\n"); /* longer than the first one */
    assert_true(follow_after(NS_PER_S));
    expect(0x1000, "uno");
    expect(0x3000, "tre");
    write_map("w", "1000 10 un\n"); /* shorter */
    assert_true(follow_after(NS_PER_S));
    expect(0x1000, "un");
}

static void a_large_map_is_read_a_little_at_a_time(void **state)
{
    char line[64];
    uint32_t lines = 0, looks = 0;
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    for (size_t bytes = 0; bytes < 3 * JIT_READ_MAX; lines++)
        bytes += (size_t)fprintf(f, "%x 10 function_%u\n", 0x10000 + lines * 16, lines);
    assert_int_equal(fclose(f), 0);
    while (follow_after(NS_PER_S))
        looks++;
    assert_int_equal(looks, 4);
    (void)snprintf(line, sizeof(line), "function_%u", lines - 1);
    expect(0x10000 + (lines - 1) * 16, line);
}

static void all_maps_together_are_read_at_a_bounded_pace(void **state)
{
    struct jit *others[2 * JIT_READ_PER_S / JIT_READ_MAX];
    uint32_t read = 0, count = sizeof(others) / sizeof(others[0]);
    FILE *f = fopen(path, "w");

    (void)state;
    assert_non_null(f);
    for (size_t bytes = 0; bytes < JIT_READ_MAX + 1000;)
        bytes += (size_t)fprintf(f, "1000 10 function\n");
    assert_int_equal(fclose(f), 0);
    now.ns += NS_PER_S;
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(jit_new(&pool, (uint32_t)getpid(), 0, 0, &others[i]), ST_OK);
        read += jit_follow(others[i], now);
    }
    for (uint32_t i = 0; i < count; i++)
        jit_free(others[i]);
    assert_in_range(read, 1, JIT_READ_PER_S / JIT_READ_MAX);
}

static void a_map_of_an_earlier_process_with_that_pid_is_not_believed(void **state)
{
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};

    (void)state;
    write_map("w", "1000 10 old\n");
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    assert_false(follow_after(0));
    expect(0x1000, NULL);
}

static void a_map_of_another_user_is_not_believed(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* needs to give a file away */
    write_map("w", "1000 10 planted\n");
    assert_int_equal(chown(path, 65534, 65534), 0);
    assert_false(follow_after(0));
    expect(0x1000, NULL);
}

static void a_link_or_a_pipe_is_no_map(void **state)
{
    char target[80];

    (void)state;
    (void)snprintf(target, sizeof(target), "%s.target", path);
    write_map("w", "1000 10 one\n");
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_false(follow_after(0));
    assert_int_equal(unlink(target), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(follow_after(NS_PER_S)); /* and nobody waits for a writer */
}

static void a_child_without_a_map_has_its_parents_names(void **state)
{
    struct jit *child = NULL;

    (void)state;
    assert_int_equal(jit_elder(jit), 0);
    write_map("w", "1000 10 inherited\n");
    assert_true(follow_after(0));
    assert_int_equal(jit_new(&pool, (uint32_t)getppid(), FAR_FUTURE_NS, jit_elder(jit), &child),
                     ST_OK);
    assert_true(jit_follow(child, mono_after(now, NS_PER_S)));
    assert_string_equal(jit_find(child, 0x1000), "inherited");
    jit_free(child);
}

static void a_process_that_is_gone_has_no_names(void **state)
{
    struct jit *none = NULL;

    (void)state;
    assert_int_equal(jit_new(&pool, 1 << 23, 0, 0, &none), ST_OK);
    assert_false(jit_follow(none, now));
    assert_null(jit_find(none, 0x1000));
    jit_free(none);
}

int main(void)
{
#define WITH_JIT(test) cmocka_unit_test_setup_teardown(test, make, drop)
    const struct CMUnitTest tests[] = {
        WITH_JIT(what_is_added_is_found_at_the_next_look),
        WITH_JIT(a_map_is_not_looked_at_more_than_ten_times_a_second),
        WITH_JIT(a_map_that_does_not_grow_is_looked_at_less_and_less),
        WITH_JIT(a_map_that_is_written_anew_is_read_anew),
        WITH_JIT(a_large_map_is_read_a_little_at_a_time),
        WITH_JIT(all_maps_together_are_read_at_a_bounded_pace),
        WITH_JIT(a_map_of_an_earlier_process_with_that_pid_is_not_believed),
        WITH_JIT(a_map_of_another_user_is_not_believed),
        WITH_JIT(a_link_or_a_pipe_is_no_map),
        WITH_JIT(a_child_without_a_map_has_its_parents_names),
        WITH_JIT(a_process_that_is_gone_has_no_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
