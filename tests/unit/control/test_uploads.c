/* Uploads: up to which number a connection's chunks may be acknowledged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/uploads.h"

static struct upload *take(struct uploads *u, uint64_t number)
{
    struct upload *upload = NULL;

    assert_int_equal(uploads_take(u, number, 100, "web-1", &upload), ST_OK);
    assert_string_equal(upload->host, "web-1");
    upload->owner = u;
    return upload;
}

static void an_upload_is_acknowledged_when_every_earlier_one_is_finished(void **state)
{
    struct uploads u = {0};
    struct upload *first = take(&u, 1), *second = take(&u, 2), *third = take(&u, 5);

    (void)state;
    assert_false(uploads_finish(&u, second));
    assert_int_equal(u.acked, 0);
    assert_true(uploads_finish(&u, first));
    assert_int_equal(u.acked, 2);
    assert_int_equal(u.bytes, 100);
    assert_true(uploads_finish(&u, third));
    assert_int_equal(u.acked, 5);
    assert_int_equal(u.count, 0);
    assert_int_equal(u.bytes, 0);
}

static void a_number_that_came_before_is_not_taken_twice(void **state)
{
    struct uploads u = {0};
    struct upload *upload = take(&u, 3), *again = NULL;

    (void)state;
    assert_int_equal(uploads_take(&u, 3, 100, "web-1", &again), ST_BAD_STATE);
    assert_int_equal(uploads_take(&u, 2, 100, "web-1", &again), ST_BAD_STATE);
    assert_true(uploads_finish(&u, upload));
    assert_int_equal(uploads_take(&u, 3, 100, "web-1", &again), ST_EXISTS);
    assert_null(again);
}

static void a_window_that_is_ignored_meets_a_limit(void **state)
{
    struct uploads u = {0};
    struct upload *last = NULL;

    (void)state;
    for (uint64_t i = 1; i <= UPLOADS_MAX; i++)
        take(&u, i);
    assert_int_equal(uploads_take(&u, UPLOADS_MAX + 1, 100, "web-1", &last), ST_FULL);
    while (u.first != NULL)
        assert_true(uploads_finish(&u, u.first));
    assert_int_equal(u.acked, UPLOADS_MAX);
}

static void what_could_not_be_handed_on_may_come_again(void **state)
{
    struct uploads u = {0};
    struct upload *first = take(&u, 1), *second = take(&u, 2);

    (void)state;
    uploads_untake(&u, second);
    assert_int_equal(u.taken, 1);
    second = take(&u, 2);
    assert_true(uploads_finish(&u, first));
    uploads_untake(&u, second);
    assert_int_equal(u.taken, 1);
    assert_int_equal(u.count, 0);
}

static void nothing_is_acknowledged_past_a_failure(void **state)
{
    struct uploads u = {0};
    struct upload *first = take(&u, 1), *second = take(&u, 2), *third = take(&u, 3);

    (void)state;
    uploads_fail(&u, second);
    assert_false(uploads_finish(&u, third));
    assert_true(uploads_finish(&u, first));
    assert_int_equal(u.acked, 1);
    uploads_orphan(&u); /* frees all three */
}

static void what_is_in_work_outlives_its_connection(void **state)
{
    struct uploads u = {0};
    struct upload *first = take(&u, 1), *second = take(&u, 2);

    (void)state;
    assert_false(uploads_finish(&u, second));
    uploads_orphan(&u);
    assert_int_equal(u.count, 0);
    assert_null(first->owner);
    upload_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upload_is_acknowledged_when_every_earlier_one_is_finished),
        cmocka_unit_test(a_number_that_came_before_is_not_taken_twice),
        cmocka_unit_test(a_window_that_is_ignored_meets_a_limit),
        cmocka_unit_test(what_could_not_be_handed_on_may_come_again),
        cmocka_unit_test(nothing_is_acknowledged_past_a_failure),
        cmocka_unit_test(what_is_in_work_outlives_its_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
