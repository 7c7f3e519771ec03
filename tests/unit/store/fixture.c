#include "tests/unit/store/fixture.h"

#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Small enough for the sanitizers' address space; grows by itself. */
static const uint64_t map_bytes = UINT64_C(256) << 20;

static void ring(void *arg)
{
    const struct fixture *f = arg;

    assert_int_equal(eventfd_write(f->bell, 1), 0);
}

void fixture_init(struct fixture *f)
{
    const char *top = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";

    *f = (struct fixture){0};
    snprintf(f->directory, sizeof(f->directory), "%s/fleetprof-store-XXXXXX", top);
    assert_non_null(mkdtemp(f->directory));
    f->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    f->options = (struct store_options){
        .directory = f->directory, .map_bytes = map_bytes, .wake = ring, .arg = f};
}

void fixture_open(struct fixture *f)
{
    char why[STORE_WHY_MAX];
    enum status st = store_open(&f->options, &f->store, why);

    if (st != ST_OK)
        print_error("%s\n", why);
    assert_ok(st);
}

void fixture_close(struct fixture *f)
{
    store_close(f->store);
    f->store = NULL;
}

void fixture_reopen(struct fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

static void remove_directory(const char *path)
{
    DIR *dir = opendir(path);

    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir))
        if (e->d_name[0] != '.')
            assert_int_equal(unlinkat(dirfd(dir), e->d_name, 0), 0);
    closedir(dir);
    assert_int_equal(rmdir(path), 0);
}

void fixture_deinit(struct fixture *f)
{
    fixture_close(f);
    close(f->bell);
    remove_directory(f->directory);
}

int fixture_setup(void **state)
{
    struct fixture *f = malloc(sizeof(*f));

    assert_non_null(f);
    fixture_init(f);
    fixture_open(f);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture_deinit(*state);
    free(*state);
    return 0;
}

void fixture_wait(struct fixture *f)
{
    struct pollfd p = {.fd = f->bell, .events = POLLIN};
    eventfd_t rings;

    assert_int_equal(poll(&p, 1, 60000), 1);
    assert_int_equal(eventfd_read(f->bell, &rings), 0);
    store_complete(f->store);
}

struct one_write {
    struct store_write write;
    enum status (*apply)(struct store_txn *t, void *arg);
    void *arg;
    bool done;
    enum status status;
};

static enum status apply_one(struct store_write *w, struct store_txn *t)
{
    struct one_write *one = (struct one_write *)w;

    return one->apply(t, one->arg);
}

static void one_done(struct store_write *w, enum status st)
{
    struct one_write *one = (struct one_write *)w;

    one->done = true;
    one->status = st;
}

enum status fixture_apply(struct fixture *f, enum status (*apply)(struct store_txn *t, void *arg),
                          void *arg)
{
    struct one_write one = {
        .write = {.apply = apply_one, .done = one_done}, .apply = apply, .arg = arg};

    store_submit(f->store, &one.write);
    while (!one.done)
        fixture_wait(f);
    return one.status;
}

struct record {
    enum store_table table;
    const char *key, *value;
};

static enum status apply_record(struct store_txn *t, void *arg)
{
    const struct record *r = arg;

    return store_txn_put(t, r->table, text_slice(r->key), text_slice(r->value));
}

enum status fixture_put(struct fixture *f, enum store_table table, const char *key,
                        const char *value)
{
    struct record r = {table, key, value};

    return fixture_apply(f, apply_record, &r);
}

struct id128 test_id(uint8_t n)
{
    return (struct id128){.bytes = {[0] = 0xf1, [ID128_BYTES - 1] = n}};
}

struct chunk_info test_info(struct id128 profiler, uint64_t sequence, uint64_t start_ns)
{
    return (struct chunk_info){
        .profiler = profiler,
        .sequence = sequence,
        .incarnation = 7,
        .start = {NS_PER_S},
        .end = {11 * NS_PER_S},
        .wall_start = {start_ns},
        .event = EVENT_CPU,
        .period_ns = 10101010,
        .inclusion = 1.0,
        .cpus = 2,
        .ledger = {.expected = 110, .delivered = 100, .idle = 7, .lost = {[LOSS_RING] = 3}},
        .cost = {.user_ns = 5, .kernel_map_bytes = 11},
    };
}

struct chunk_put {
    const struct chunk_info *info;
    const char *stored;
};

static enum status apply_chunk(struct store_txn *t, void *arg)
{
    const struct chunk_put *p = arg;

    return store_txn_chunk(t, p->info, text_slice(p->stored));
}

enum status fixture_put_chunk(struct fixture *f, const struct chunk_info *info, const char *stored)
{
    struct chunk_put p = {info, stored};

    return fixture_apply(f, apply_chunk, &p);
}
