/* fixture - a store in a temporary directory, driven as the loop would: submit, wait for the wake,
 * complete. And plain chunks to put into it. */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/store/store.h"

#define assert_ok(st) assert_int_equal(st, ST_OK)
#define DAY_NS (86400 * NS_PER_S)
#define NOON (UINT64_C(20000) * DAY_NS + DAY_NS / 2) /* 2024-10-04 12:00 */

enum { FIXTURE_PATH_MAX = 128 };

struct fixture {
    char directory[FIXTURE_PATH_MAX];
    int bell; /* eventfd: the store's wake rings it */
    struct store_options options;
    struct store *store;
};

void fixture_init(struct fixture *f); /* makes the directory; opens nothing */
void fixture_open(struct fixture *f);
void fixture_close(struct fixture *f); /* the store only */
void fixture_reopen(struct fixture *f);
void fixture_deinit(struct fixture *f); /* closes, and removes the directory */
int fixture_setup(void **state); /* for cmocka: a fixture with an open store */
int fixture_teardown(void **state);
void fixture_wait(struct fixture *f); /* until the store woke us; then completes */

/* One write, waited for; its status. */
enum status fixture_apply(struct fixture *f, enum status (*apply)(struct store_txn *t, void *arg),
                          void *arg);
enum status fixture_put(struct fixture *f, enum store_table table, const char *key,
                        const char *value);

/* The id whose last byte is `n`. */
struct id128 test_id(uint8_t n);
/* A 10 s window of 100 samples that begins at `start_ns` on everybody's clock. */
struct chunk_info test_info(struct id128 profiler, uint64_t sequence, uint64_t start_ns);
enum status fixture_put_chunk(struct fixture *f, const struct chunk_info *info, const char *stored);

static inline struct slice text_slice(const char *text)
{
    return (struct slice){(const uint8_t *)text, __builtin_strlen(text)};
}

#endif
