/* Control over a store that cannot write: nothing is promised that is not kept, nothing hangs, and
 * all goes on when there is room again. The disk's end is played by a limit on the size of files.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "world.h"

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static int set_up(void **state)
{
    signal(SIGXFSZ, SIG_IGN);
    return world_set_up(state);
}

static int tear_down(void **state)
{
    limit_files(RLIM_INFINITY);
    return world_tear_down(state);
}

struct answer {
    enum status status;
    uint32_t count;
};

static void note(void *arg, enum status st, uint64_t session)
{
    struct answer *a = arg;

    (void)session;
    a->status = st;
    a->count++;
}

static void hello(struct world *w, unsigned link, const char *host)
{
    says_hello(w, link, (struct hello_of){.host = host, .incarnation = link});
}

static void count_sessions(void *arg, const struct session_view *s)
{
    (void)s;
    ++*(uint32_t *)arg;
}

static void a_start_that_cannot_be_kept_is_answered_and_leaves_no_trace(void **state)
{
    struct world *w = *state;
    struct session_request r = {.event = EVENT_CPU, .hz = 99, .duration_ns = 60 * NS_PER_S};
    struct answer a = {0};
    char why[CONTROL_WHY_MAX];
    uint32_t sessions = 0;

    hello(w, 1, "web-1");
    limit_files(4096);
    assert_int_equal(control_start(w->control, &r, w->wall, note, &a, why), ST_OK);
    world_settle(w);
    assert_int_equal(a.count, 1);
    assert_int_not_equal(a.status, ST_OK);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);

    limit_files(RLIM_INFINITY);
    world_pass(w, 2);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0);
    world_restart(w);
    control_each_session(w->control, count_sessions, &sessions);
    assert_int_equal(sessions, 0);
}

static void a_stop_holds_at_once_and_is_kept_when_there_is_room_again(void **state)
{
    struct world *w = *state;
    struct answer a = {0};
    char why[CONTROL_WHY_MAX];
    uint64_t s;

    hello(w, 1, "web-1");
    s = starts(w, "", 99, 60);
    limit_files(4096);
    assert_int_equal(control_stop(w->control, s, NULL, w->wall, note, &a, why), ST_OK);
    world_settle(w);
    assert_int_equal(a.count, 1);
    assert_int_not_equal(a.status, ST_OK);
    assert_int_equal(said_to(w, 1)->plan.item_count, 0); /* it did stop */

    limit_files(RLIM_INFINITY);
    world_pass(w, 2);
    world_restart(w);
    assert_int_equal(state_of(w, s), SESSION_DRAINING);
    assert_true(view_of(w, s).record->stopped);
}

static void a_profiler_that_cannot_be_kept_is_not_sent_until_it_can(void **state)
{
    struct world *w = *state;

    starts(w, "", 99, 60);
    limit_files(4096);
    hello(w, 1, "web-1");
    world_pass(w, 3);
    assert_int_equal(said_to(w, 1)->plans, 0);
    limit_files(RLIM_INFINITY);
    world_pass(w, 2);
    assert_int_equal(said_to(w, 1)->plan.item_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(a_start_that_cannot_be_kept_is_answered_and_leaves_no_trace),
        T(a_stop_holds_at_once_and_is_kept_when_there_is_room_again),
        T(a_profiler_that_cannot_be_kept_is_not_sent_until_it_can),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
