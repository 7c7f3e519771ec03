/* Sessions and profilers: states, member intervals, and which stored samples are whose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coordinator/control/sessions.h"

struct world {
    struct sessions *sessions;
    struct profilers *profilers;
};

static struct wall at(uint64_t seconds)
{
    return (struct wall){seconds * NS_PER_S};
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    assert_int_equal(sessions_new(&w->sessions), ST_OK);
    assert_int_equal(profilers_new(&w->profilers), ST_OK);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    sessions_free(w->sessions);
    profilers_free(w->profilers);
    free(w);
    return 0;
}

/* A session from 100 s to 130 s. */
static struct session *add_session(struct world *w, uint64_t id)
{
    struct session_record record = {.id = id,
                                    .selector = strdup("service=checkout"),
                                    .event = EVENT_CPU,
                                    .hz = 99,
                                    .created = at(100),
                                    .ends = at(130),
                                    .state = SESSION_RUNNING};
    char why[SELECTOR_WHY_MAX];
    struct session *s = NULL;

    assert_int_equal(sessions_add_take(w->sessions, &record, &s, why), ST_OK);
    assert_null(record.selector);
    s->durable = true;
    return s;
}

static struct profiler *add_profiler(struct world *w, const char *host, uint8_t id)
{
    struct profiler_record record = {.id = {{id}}, .event = EVENT_CPU, .assigned = at(100)};
    struct profiler *p = NULL;

    (void)snprintf(record.host, sizeof(record.host), "%s", host);
    assert_int_equal(profilers_add_take(w->profilers, &record, &p), ST_OK);
    return p;
}

static struct ledger_row row(uint64_t from, uint64_t to, uint64_t delivered, uint64_t lost)
{
    return (struct ledger_row){.start = at(from),
                               .end = at(to),
                               .ledger = {.delivered = delivered, .lost = {[LOSS_RING] = lost}}};
}

static void states_follow_the_table_and_nothing_else(void **state)
{
    struct session *s = add_session(*state, 1);

    assert_int_equal(session_handle(s, SESSION_EVENT_COMPLETE), ST_BAD_STATE);
    assert_int_equal(session_handle(s, SESSION_EVENT_OVER), ST_OK);
    assert_int_equal(s->record.state, SESSION_DRAINING);
    assert_int_equal(session_handle(s, SESSION_EVENT_OVER), ST_BAD_STATE);
    assert_int_equal(session_handle(s, SESSION_EVENT_STOP), ST_OK);
    assert_int_equal(s->record.state, SESSION_STOPPED);
    assert_int_equal(session_handle(s, SESSION_EVENT_COMPLETE), ST_BAD_STATE);
}

static void a_session_wants_hosts_once_durable_until_its_end(void **state)
{
    struct session *s = add_session(*state, 1);

    assert_true(session_is_wanting(s, at(129)));
    assert_false(session_is_wanting(s, at(130)));
    s->durable = false;
    assert_false(session_is_wanting(s, at(129)));
}

static void a_bad_selector_is_named_and_the_record_kept(void **state)
{
    struct world *w = *state;
    struct session_record record = {.id = 9, .selector = strdup("service=~(")};
    char why[SELECTOR_WHY_MAX] = "";
    struct session *s = NULL;

    assert_int_equal(sessions_add_take(w->sessions, &record, &s, why), ST_INVALID);
    assert_true(why[0] != '\0');
    assert_non_null(record.selector);
    assert_int_equal(sessions_count(w->sessions), 0);
    session_record_deinit(&record);
}

static void an_id_is_taken_once(void **state)
{
    struct world *w = *state;
    struct session_record record = {.id = 1, .selector = strdup("")};
    char why[SELECTOR_WHY_MAX];
    struct session *s = add_session(w, 1), *other = NULL;

    assert_int_equal(sessions_add_take(w->sessions, &record, &other, why), ST_EXISTS);
    assert_ptr_equal(sessions_find(w->sessions, 1), s);
    session_record_deinit(&record);
}

static void an_open_member_is_not_opened_twice(void **state)
{
    struct session *s = add_session(*state, 1);
    struct profiler *p = add_profiler(*state, "web-1", 1);

    assert_int_equal(session_open_member(s, p, at(101)), ST_OK);
    assert_int_equal(session_open_member(s, p, at(102)), ST_OK);
    assert_int_equal(s->record.member_count, 1);
    assert_true(session_close_member(s, p, at(110)));
    assert_false(session_close_member(s, p, at(111)));
    assert_int_equal(s->record.members[0].to.ns, at(110).ns);
}

static void a_host_that_leaves_and_returns_has_two_intervals_and_one_row(void **state)
{
    struct session *s = add_session(*state, 1);
    struct profiler *p = add_profiler(*state, "web-1", 1);

    assert_int_equal(session_open_member(s, p, at(101)), ST_OK);
    assert_true(session_close_member(s, p, at(105)));
    assert_int_equal(session_open_member(s, p, at(110)), ST_OK);
    assert_int_equal(s->record.member_count, 2);
    assert_int_equal(s->host_count, 1);
    assert_int_equal(s->hosts[0]->latest, 1);
}

static void chunks_count_for_their_part_inside_the_interval(void **state)
{
    struct session *s = add_session(*state, 1);
    struct profiler *p = add_profiler(*state, "web-1", 1);
    struct ledger_row before = row(85, 95, 990, 0), across = row(95, 105, 990, 10),
                      inside = row(105, 115, 500, 4), past = row(125, 135, 100, 0);

    assert_int_equal(session_open_member(s, p, at(100)), ST_OK);
    session_count(s, 0, &before);
    assert_int_equal(s->chunks, 0);
    session_count(s, 0, &across);
    assert_int_equal(s->samples, 495);
    assert_int_equal(s->lost, 5);
    session_count(s, 0, &inside);
    assert_int_equal(s->samples, 995);
    assert_int_equal(s->hosts[0]->lost, 9);
    session_count(s, 0, &past); /* still open: the session's end bounds it */
    assert_int_equal(s->samples, 1045);
    assert_int_equal(s->hosts[0]->chunks, 3);
}

static void a_member_settles_when_a_stored_window_covers_its_end(void **state)
{
    struct session *s = add_session(*state, 1);
    struct profiler *p = add_profiler(*state, "web-1", 1);

    assert_int_equal(session_open_member(s, p, at(100)), ST_OK);
    profiler_count_chunk(p, 1, at(110), false);
    assert_false(session_settle(s, 0, false)); /* open */
    session_close_all(s, at(115));
    assert_false(session_settle(s, 0, false));
    profiler_count_chunk(p, 2, at(120), false);
    assert_true(session_settle(s, 0, false));
    assert_int_equal(s->unsettled, 0);
    assert_false(session_settle(s, 0, false));
}

static void a_gap_keeps_a_member_from_settling(void **state)
{
    struct session *s = add_session(*state, 1);
    struct profiler *p = add_profiler(*state, "web-1", 1);

    assert_int_equal(session_open_member(s, p, at(100)), ST_OK);
    session_close_all(s, at(115));
    profiler_count_chunk(p, 2, at(120), false);
    assert_false(session_settle(s, 0, false));
    assert_int_equal(profiler_missing(p), 1);
    profiler_count_chunk(p, 1, at(110), false);
    assert_true(session_settle(s, 0, false));
}

static void the_final_sequence_decides_when_it_is_known(void **state)
{
    struct profiler *p = add_profiler(*state, "web-1", 1);

    p->sequence_known = true;
    p->record.last_sequence = 2;
    profiler_count_chunk(p, 1, at(500), false);
    assert_false(profiler_settled(p, at(115)));
    profiler_count_chunk(p, 2, at(501), true);
    assert_true(profiler_settled(p, at(1000)));
}

static void a_final_chunk_tells_the_last_sequence_by_itself(void **state)
{
    struct profiler *p = add_profiler(*state, "web-1", 1);

    profiler_count_chunk(p, 1, at(105), true);
    assert_true(profiler_settled(p, at(130)));
    assert_int_equal(p->record.last_sequence, 1);
}

static void a_profiler_without_a_chunk_settles_when_it_says_so(void **state)
{
    struct profiler *p = add_profiler(*state, "web-1", 1);

    assert_false(profiler_settled(p, at(130)));
    p->sequence_known = true; /* last sequence 0 */
    assert_true(profiler_settled(p, at(130)));
}

static void profiler_states_only_lead_onward(void **state)
{
    struct profiler *p = add_profiler(*state, "web-1", 1);

    assert_false(profiler_take_step(p, STEP_ACCEPTED)); /* it was never sent */
    assert_true(profiler_take_step(p, STEP_SENT));
    assert_true(profiler_take_step(p, STEP_SAMPLED));
    assert_false(profiler_take_step(p, STEP_ACCEPTED));
    assert_int_equal(p->state, HOST_SAMPLING);
    assert_true(profiler_take_step(p, STEP_ENDED));
    assert_false(profiler_take_step(p, STEP_SAMPLED));
    assert_false(profiler_take_step(p, STEP_REFUSED));
}

static void trimming_forgets_the_oldest_ended_sessions_only(void **state)
{
    struct world *w = *state;
    struct profiler *p = add_profiler(w, "web-1", 1);

    for (uint64_t id = 1; id <= 4; id++) {
        struct session *s = add_session(w, id);

        assert_int_equal(session_open_member(s, p, at(100)), ST_OK);
        if (id == 2)
            continue;
        session_close_all(s, at(120));
        assert_int_equal(session_handle(s, SESSION_EVENT_OVER), ST_OK);
        assert_int_equal(session_handle(s, SESSION_EVENT_COMPLETE), ST_OK);
    }
    assert_int_equal(sessions_live(w->sessions), 1);
    sessions_trim(w->sessions, 1);
    assert_null(sessions_find(w->sessions, 1));
    assert_non_null(sessions_find(w->sessions, 2));
    assert_null(sessions_find(w->sessions, 3));
    assert_non_null(sessions_find(w->sessions, 4));
    assert_int_equal(p->member_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        T(states_follow_the_table_and_nothing_else),
        T(a_session_wants_hosts_once_durable_until_its_end),
        T(a_bad_selector_is_named_and_the_record_kept),
        T(an_id_is_taken_once),
        T(an_open_member_is_not_opened_twice),
        T(a_host_that_leaves_and_returns_has_two_intervals_and_one_row),
        T(chunks_count_for_their_part_inside_the_interval),
        T(a_member_settles_when_a_stored_window_covers_its_end),
        T(a_gap_keeps_a_member_from_settling),
        T(the_final_sequence_decides_when_it_is_known),
        T(a_final_chunk_tells_the_last_sequence_by_itself),
        T(a_profiler_without_a_chunk_settles_when_it_says_so),
        T(profiler_states_only_lead_onward),
        T(trimming_forgets_the_oldest_ended_sessions_only),
#undef T
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
