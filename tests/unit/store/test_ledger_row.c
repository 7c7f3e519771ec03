/* ledger_row: rows come back as they were, and those of older and newer builds are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/store/bytes.h"
#include "coordinator/store/ledger_row.h"

static struct ledger_row row_of_everything(void)
{
    struct ledger_row row = {
        .profiler = {{7}},
        .sequence = 3,
        .start = {1000},
        .end = {2000},
        .period_ns = 10101010,
        .cpus = 4,
        .final = true,
        .ledger = {.expected = 100, .delivered = 60, .idle = 20, .skipped = 10, .lost = {1, 2}},
        .cost = {1, 2, 3, 4, 5, 6, 7},
        .walks = {.count = {[WALK_NONE] = 4, [WALK_ROOT] = 50}},
    };

    row.ledger.lost[LOSS_AGENT] = 7;
    row.walks.count[WALKS_MAX - 1] = 6;
    return row;
}

static struct ledger_row unpack(const struct ledger_row *key_of, struct slice value)
{
    uint8_t key[ROW_KEY_BYTES];
    struct ledger_row row;
    uint64_t batch = 0;

    ledger_row_key(key_of, key);
    assert_int_equal(ledger_row_unpack((struct slice){key, sizeof(key)}, value, &row, &batch),
                     ST_OK);
    assert_int_equal(batch, 9);
    return row;
}

static void assert_same(const struct ledger_row *a, const struct ledger_row *b)
{
    assert_memory_equal(&a->profiler, &b->profiler, sizeof(a->profiler));
    assert_int_equal(a->sequence, b->sequence);
    assert_int_equal(a->start.ns, b->start.ns);
    assert_int_equal(a->end.ns, b->end.ns);
    assert_int_equal(a->period_ns, b->period_ns);
    assert_int_equal(a->cpus, b->cpus);
    assert_int_equal(a->final, b->final);
    assert_memory_equal(&a->ledger, &b->ledger, sizeof(a->ledger));
    assert_memory_equal(&a->cost, &b->cost, sizeof(a->cost));
    assert_memory_equal(&a->walks, &b->walks, sizeof(a->walks));
}

static void a_row_comes_back_as_it_was(void **state)
{
    const struct ledger_row row = row_of_everything();
    uint8_t bytes[ROW_BYTES_MAX];
    struct ledger_row read;

    (void)state;
    assert_int_equal(ledger_row_pack(&row, 9, bytes), sizeof(bytes));
    read = unpack(&row, (struct slice){bytes, sizeof(bytes)});
    assert_same(&row, &read);
}

static void zeros_at_the_end_take_no_room(void **state)
{
    struct ledger_row row = row_of_everything(), read;
    uint8_t bytes[ROW_BYTES_MAX];
    size_t length;

    (void)state;
    row.walks = (struct walks){0};
    length = ledger_row_pack(&row, 9, bytes);
    assert_int_equal(length, 8 * (16 + LOSS_AGENT + 1));
    read = unpack(&row, (struct slice){bytes, length});
    assert_same(&row, &read);
}

/* The first builds wrote sixteen numbers and five causes of loss. */
static void a_row_of_an_older_build_has_zeros_where_it_ends(void **state)
{
    struct ledger_row row = row_of_everything(), read;
    uint8_t bytes[ROW_BYTES_MAX];

    (void)state;
    (void)ledger_row_pack(&row, 9, bytes);
    read = unpack(&row, (struct slice){bytes, 8 * 21});
    row.ledger.lost[LOSS_AGENT] = 0;
    row.walks = (struct walks){0};
    assert_same(&row, &read);
}

static void what_a_newer_build_appends_is_left_alone(void **state)
{
    const struct ledger_row row = row_of_everything();
    uint8_t bytes[ROW_BYTES_MAX + 16] = {0};
    struct ledger_row read;

    (void)state;
    (void)ledger_row_pack(&row, 9, bytes);
    put_be(bytes + ROW_BYTES_MAX, 12345, 8);
    read = unpack(&row, (struct slice){bytes, sizeof(bytes)});
    assert_same(&row, &read);
}

static void half_a_number_is_no_row(void **state)
{
    const struct ledger_row row = row_of_everything();
    uint8_t key[ROW_KEY_BYTES], bytes[ROW_BYTES_MAX];
    struct ledger_row read;
    uint64_t batch;

    (void)state;
    ledger_row_key(&row, key);
    (void)ledger_row_pack(&row, 9, bytes);
    assert_int_equal(ledger_row_unpack((struct slice){key, sizeof(key)}, (struct slice){bytes, 167},
                                       &read, &batch),
                     ST_INVALID);
    assert_int_equal(ledger_row_unpack((struct slice){key, sizeof(key) - 1},
                                       (struct slice){bytes, 168}, &read, &batch),
                     ST_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_comes_back_as_it_was),
        cmocka_unit_test(zeros_at_the_end_take_no_room),
        cmocka_unit_test(a_row_of_an_older_build_has_zeros_where_it_ends),
        cmocka_unit_test(what_a_newer_build_appends_is_left_alone),
        cmocka_unit_test(half_a_number_is_no_row),
    };

    return cmocka_run_group_tests_name("ledger_row", tests, NULL, NULL);
}
