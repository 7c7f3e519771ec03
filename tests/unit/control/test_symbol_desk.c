/* The symbol desk: every binary's symbols are asked of one peer at a time, and never of one that
 * has none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "coordinator/symbol_desk.h"

static char peers[8]; /* their addresses are the peers */
static const struct mono start = {1000 * NS_PER_S};

static struct build_id binary(uint16_t number)
{
    struct build_id id = {.length = 20};

    memcpy(id.bytes, &number, sizeof(number));
    return id;
}

static struct symbol_desk *new_desk(void)
{
    struct symbol_desk *d = NULL;

    assert_int_equal(symbol_desk_new(&d), ST_OK);
    return d;
}

static void want(struct symbol_desk *d, uint16_t number, void *peer)
{
    struct build_id id = binary(number);

    assert_int_equal(symbol_desk_want(d, &id, peer, start), ST_OK);
}

static uint32_t ask(struct symbol_desk *d, void *peer, struct mono now)
{
    struct build_id ids[256];

    return symbol_desk_ask(d, peer, now, ids, 256);
}

struct noted {
    void *last;
    uint32_t count;
};

static void note(void *arg, void *peer)
{
    struct noted *n = arg;

    n->last = peer;
    n->count++;
}

static void a_binary_is_asked_of_one_peer_that_runs_it(void **state)
{
    struct symbol_desk *d = new_desk();
    struct build_id id = binary(1);

    (void)state;
    want(d, 1, &peers[0]);
    want(d, 1, &peers[1]);
    assert_int_equal(ask(d, &peers[2], start), 0);
    assert_int_equal(ask(d, &peers[0], start), 1);
    assert_int_equal(ask(d, &peers[0], start), 0);
    assert_int_equal(ask(d, &peers[1], start), 0);
    assert_true(symbol_desk_heard(d, &id, &peers[0], start));
    assert_false(symbol_desk_heard(d, &id, &peers[1], start)); /* nobody asked it */
    assert_ptr_equal(symbol_desk_got(d, &id), &peers[0]);
    assert_int_equal(symbol_desk_count(d), 0);
    assert_false(symbol_desk_heard(d, &id, &peers[0], start));
    symbol_desk_free(d);
}

static void a_peer_has_only_so_much_to_do_at_once(void **state)
{
    struct symbol_desk *d = new_desk();

    (void)state;
    for (uint16_t i = 0; i < 100; i++)
        for (size_t p = 0; p < 5; p++)
            if (i % 5 == p)
                want(d, i, &peers[p]);
    for (size_t p = 0; p < 4; p++)
        assert_int_equal(ask(d, &peers[p], start), SYMBOL_DESK_ASKED_MAX);
    assert_int_equal(ask(d, &peers[4], start), 0); /* all together are at their limit */
    symbol_desk_free(d);
}

static void who_has_none_is_followed_by_the_next(void **state)
{
    struct symbol_desk *d = new_desk();
    struct build_id id = binary(1);
    struct mono later = mono_after(start, SYMBOL_DESK_AGAIN_NS);
    struct noted n = {0};

    (void)state;
    want(d, 1, &peers[0]);
    want(d, 1, &peers[1]);
    assert_int_equal(ask(d, &peers[0], start), 1);
    assert_ptr_equal(symbol_desk_lacks(d, &id, start), &peers[1]);
    assert_int_equal(ask(d, &peers[0], start), 0);
    assert_int_equal(ask(d, &peers[1], start), 1);
    assert_null(symbol_desk_lacks(d, &id, start));
    want(d, 1, &peers[0]); /* every chunk says it again */
    assert_int_equal(ask(d, &peers[0], start), 0);
    symbol_desk_expire(d, later, note, &n);
    assert_int_equal(symbol_desk_count(d), 0); /* and from now on it may be asked for again */
    assert_int_equal(n.count, 0);
    symbol_desk_free(d);
}

static void an_upload_without_a_next_part_in_time_is_asked_of_another(void **state)
{
    struct symbol_desk *d = new_desk();
    struct build_id id = binary(1);
    struct mono half = mono_after(start, SYMBOL_DESK_PATIENCE_NS / 2);
    struct mono end = mono_after(half, SYMBOL_DESK_PATIENCE_NS);
    struct noted n = {0};

    (void)state;
    want(d, 1, &peers[0]);
    want(d, 1, &peers[1]);
    assert_int_equal(ask(d, &peers[0], start), 1);
    assert_true(symbol_desk_heard(d, &id, &peers[0], half));
    symbol_desk_expire(d, (struct mono){end.ns - 1}, note, &n);
    assert_int_equal(n.count, 0);
    symbol_desk_expire(d, end, note, &n);
    assert_ptr_equal(n.last, &peers[1]);
    assert_int_equal(ask(d, &peers[1], end), 1);
    symbol_desk_free(d);
}

static void a_peer_that_leaves_hands_over_what_it_was_asked_for(void **state)
{
    struct symbol_desk *d = new_desk();
    struct noted n = {0};

    (void)state;
    want(d, 1, &peers[0]);
    want(d, 1, &peers[1]);
    want(d, 2, &peers[0]);
    assert_int_equal(ask(d, &peers[0], start), 2);
    symbol_desk_gone(d, &peers[0], note, &n);
    assert_int_equal(n.count, 1);
    assert_ptr_equal(n.last, &peers[1]);
    assert_int_equal(ask(d, &peers[1], start), 1);
    want(d, 2, &peers[1]); /* it had not failed, so it need not rest */
    assert_int_equal(ask(d, &peers[1], start), 1);
    symbol_desk_free(d);
}

static void what_was_put_back_is_asked_for_again(void **state)
{
    struct symbol_desk *d = new_desk();
    struct build_id id = binary(1);
    struct noted n = {0};

    (void)state;
    want(d, 1, &peers[0]);
    assert_int_equal(ask(d, &peers[0], start), 1);
    symbol_desk_put_back(d, &id);
    symbol_desk_expire(d, start, note, &n);
    assert_ptr_equal(n.last, &peers[0]);
    assert_int_equal(ask(d, &peers[0], start), 1);
    symbol_desk_free(d);
}

static void what_a_peer_may_still_deliver_is_pending(void **state)
{
    struct symbol_desk *d = new_desk();
    struct build_id one = binary(1);

    (void)state;
    want(d, 1, &peers[0]);
    want(d, 2, &peers[1]);
    assert_int_equal(symbol_desk_pending(d), 2);
    assert_int_equal(ask(d, &peers[0], start), 1);
    assert_int_equal(symbol_desk_pending(d), 2);
    symbol_desk_lacks(d, &one, start);
    assert_int_equal(symbol_desk_pending(d), 1);
    symbol_desk_gone(d, &peers[1], note, &(struct noted){0});
    assert_int_equal(symbol_desk_pending(d), 0);
    assert_int_equal(symbol_desk_count(d), 2);
    symbol_desk_free(d);
}

static void the_desk_has_a_limit(void **state)
{
    struct symbol_desk *d = new_desk();
    struct build_id id = {.length = 8};

    (void)state;
    for (uint32_t i = 0; i < SYMBOL_DESK_MAX; i++) {
        memcpy(id.bytes, &i, sizeof(i));
        assert_int_equal(symbol_desk_want(d, &id, &peers[0], start), ST_OK);
    }
    id = binary(1);
    assert_int_equal(symbol_desk_want(d, &id, &peers[0], start), ST_FULL);
    assert_int_equal(symbol_desk_count(d), SYMBOL_DESK_MAX);
    symbol_desk_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_binary_is_asked_of_one_peer_that_runs_it),
        cmocka_unit_test(a_peer_has_only_so_much_to_do_at_once),
        cmocka_unit_test(who_has_none_is_followed_by_the_next),
        cmocka_unit_test(an_upload_without_a_next_part_in_time_is_asked_of_another),
        cmocka_unit_test(a_peer_that_leaves_hands_over_what_it_was_asked_for),
        cmocka_unit_test(what_was_put_back_is_asked_for_again),
        cmocka_unit_test(what_a_peer_may_still_deliver_is_pending),
        cmocka_unit_test(the_desk_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
