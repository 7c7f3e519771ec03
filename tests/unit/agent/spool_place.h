/* spool_place - what the tests of spool share: a directory of the test's own, and what is in it.
 * Include after cmocka.h. */
#ifndef TESTS_UNIT_AGENT_SPOOL_PLACE_H
#define TESTS_UNIT_AGENT_SPOOL_PLACE_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/spool.h"

#define BLOCK UINT64_C(4096)
enum { PATH_MAX_BYTES = 512, PLENTY = 1 << 30 };

static const struct wall now = {UINT64_C(1700000000) * NS_PER_S};

struct place { /* a directory of this test's own */
    char root[PATH_MAX_BYTES];
    char spool[PATH_MAX_BYTES + 16];
};

static inline int make_place(void **state)
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

static inline void visit_files(const char *directory, void (*visit)(const char *path))
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

static inline void remove_file(const char *path)
{
    (void)remove(path);
}

static inline int remove_place(void **state)
{
    struct place *p = *state;

    visit_files(p->spool, remove_file);
    visit_files(p->root, remove_file);
    (void)rmdir(p->root);
    free(p);
    return 0;
}

static unsigned file_count;

static inline void count_file(const char *path)
{
    (void)path;
    file_count++;
}

static inline unsigned files_in(const struct place *p)
{
    file_count = 0;
    visit_files(p->spool, count_file);
    return file_count;
}

static inline struct spool *open_bounded(const struct place *p, uint64_t bytes_max,
                                         struct wall when)
{
    struct spool_options options = {p->spool, bytes_max, 3600 * NS_PER_S};
    struct spool *s = NULL;

    assert_int_equal(spool_open(&options, when, &s), ST_OK);
    return s;
}

static inline struct spool *open_spool(const struct place *p)
{
    return open_bounded(p, PLENTY, now);
}

static inline struct slice text(const char *t)
{
    return (struct slice){(const uint8_t *)t, strlen(t)};
}

static inline struct wall later(uint64_t seconds)
{
    return (struct wall){now.ns + seconds * NS_PER_S};
}

/* Adds `t` as a chunk of ten samples. */
static inline uint64_t add_at(struct spool *s, const char *t, struct wall when)
{
    uint64_t number = 0;

    assert_int_equal(spool_add(s, text(t), 10, when, &number), ST_OK);
    return number;
}

static inline uint64_t add(struct spool *s, const char *t)
{
    return add_at(s, t, now);
}

/* The chunk after `after` is `t`; returns its number. */
static inline uint64_t expect_next(struct spool *s, uint64_t after, const char *t)
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

static inline void expect_none(struct spool *s, uint64_t after)
{
    struct blob untouched = {0};
    uint64_t number = 77;

    assert_int_equal(spool_next(s, after, &number, &untouched), ST_NOT_FOUND);
    assert_int_equal(number, 77);
    assert_null(untouched.bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

#endif
