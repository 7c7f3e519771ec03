/* The agents' link: what is taken, what is refused and how the sender learns of it, and when a
 * chunk is acknowledged. */
#include <stdlib.h>
#include <string.h>

#include "common/symtab.h"
#include "coordinator/link.h"
#include "link_world.h"

static const struct build_id burn = {.length = 20, .bytes = {0xbb, 0x01}};

/* ---- hello ---- */

static void an_agent_that_says_hello_is_welcomed_and_planned(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    introduces_itself(w, a, "web-1");
    assert_int_equal(a->welcomes, 1);
    assert_int_equal(a->plan.item_count, 0);
    turn_around(w, a);
    assert_int_equal(control_read_counters(w->control).connected, 1);
}

static void nothing_is_taken_before_a_hello(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct message m = {.type = MESSAGE_HEARTBEAT};

    says(w, a, &m);
    turn_until_count(w, "the heartbeat is refused", &a->refusals, 1);
    assert_int_equal(a->refusal.reason, REFUSAL_NO_HELLO);
    assert_int_equal(a->refusal.about, MESSAGE_HEARTBEAT);
    assert_int_equal(server_counter(w, "refused_hello_missing"), 1);
    introduces_itself(w, a, "web-1"); /* it may still do so */
}

static void a_connection_without_a_hello_is_closed_at_its_deadline(void **state)
{
    struct link_world *w = *state;
    struct agent_end *silent = connects(w, 0), *a = connects(w, 1);

    introduces_itself(w, a, "web-1");
    passes(w, 9);
    assert_int_equal(server_counter(w, "hello_late"), 0);
    passes(w, 1);
    turn_until_down(w, silent);
    assert_int_equal(server_counter(w, "hello_late"), 1);
    turn_around(w, a);
}

static void hello_is_said_once(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct message m = {.type = MESSAGE_HELLO, .hello = {.host = "web-2", .incarnation = 1}};

    introduces_itself(w, a, "web-1");
    says(w, a, &m);
    turn_until_count(w, "the second hello is refused", &a->refusals, 1);
    assert_int_equal(a->refusal.reason, REFUSAL_MALFORMED);
    assert_int_equal(control_read_counters(w->control).agents, 1);
}

static void a_newer_connection_takes_over_and_the_older_is_told(void **state)
{
    struct link_world *w = *state;
    struct agent_end *old = connects(w, 0), *young;

    introduces_itself(w, old, "web-1");
    young = connects(w, 1);
    introduces_itself(w, young, "web-1");
    turn_until_down(w, old);
    assert_int_equal(old->refusal.reason, REFUSAL_REPLACED);
    turn_around(w, young);
}

static void a_silent_agent_is_closed(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    introduces_itself(w, a, "web-1");
    passes(w, 30);
    turn_until_down(w, a);
    assert_int_equal(control_read_counters(w->control).connected, 0);
}

/* ---- what is no message ---- */

static void malformed_bytes_are_refused_and_the_connection_kept(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    introduces_itself(w, a, "web-1");
    says_bytes(a, "\xdd\xff\xff\xff\xff", 5); /* an array of four billion items */
    turn_until_count(w, "the bytes are refused", &a->refusals, 1);
    assert_in_range(a->refusal.reason, REFUSAL_MALFORMED, REFUSAL_TOO_BIG);
    assert_true(a->refusal.text[0] != '\0');
    turn_around(w, a);
}

static void an_unknown_message_is_refused_by_that_name(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    introduces_itself(w, a, "web-1");
    says_bytes(a, "\x93\x01\x63\x80", 4); /* [1, 99, {}] */
    turn_until_count(w, "the message is refused", &a->refusals, 1);
    assert_int_equal(a->refusal.reason, REFUSAL_UNKNOWN_TYPE);
    assert_int_equal(server_counter(w, "refused_unknown_type"), 1);
    turn_around(w, a);
}

static void the_coordinators_own_messages_are_not_taken(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct message m = {.type = MESSAGE_PLAN, .plan = {.revision = 9}};

    introduces_itself(w, a, "web-1");
    says(w, a, &m);
    turn_until_count(w, "the plan is refused", &a->refusals, 1);
    assert_int_equal(a->refusal.reason, REFUSAL_UNKNOWN_TYPE);
    assert_int_equal(a->refusal.about, MESSAGE_PLAN);
}

static void another_protocol_version_is_told_and_closed(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    says_bytes(a, "\x93\x02\x01\x80", 4); /* [2, 1, {}] */
    turn_until_down(w, a);
    assert_int_equal(a->refusal.reason, REFUSAL_VERSION);
}

static void a_frame_over_the_limit_closes_the_connection(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    void *big = calloc(1, MESSAGE_BYTES_MAX + 1);

    assert_non_null(big);
    introduces_itself(w, a, "web-1");
    says_bytes(a, big, MESSAGE_BYTES_MAX + 1);
    turn_until_down(w, a);
    assert_int_equal(server_counter(w, "frames_too_big"), 1);
    free(big);
}

static void whoever_only_talks_nonsense_is_closed(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    introduces_itself(w, a, "web-1");
    for (unsigned i = 0; i < LINK_REFUSALS_MAX; i++)
        says_bytes(a, "\xc0", 1);
    turn_until_down(w, a);
    assert_int_equal(a->refusals, LINK_REFUSALS_MAX);
}

/* ---- chunks ---- */

static void a_chunk_is_acknowledged_only_when_it_is_durable(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    profiler = is_planned(w, a);
    w->hold_store = true;
    uploads(w, a, 1, profiler, 1, &burn);
    turn_around(w, a); /* the chunk was heard */
    turn_around(w, a);
    assert_int_equal(server_counter(w, "chunks"), 1);
    assert_int_equal(a->acks, 0);
    w->hold_store = false;
    turn_until_count(w, "the chunk is acknowledged", &a->acks, 1);
    assert_int_equal(a->ack.number, 1);
    assert_int_equal(a->ack.window, 4);
    assert_int_equal(store_read_counters(w->store).chunks, 1);
}

static bool is_acked_to_3(void *arg)
{
    const struct agent_end *a = arg;

    return a->ack.number == 3;
}

static void acknowledgements_are_cumulative(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    profiler = is_planned(w, a);
    for (uint64_t i = 1; i <= 3; i++)
        uploads(w, a, i, profiler, i, &burn);
    turn_until(w, "all three are acknowledged", is_acked_to_3, a);
    assert_int_equal(store_read_counters(w->store).chunks, 3);
}

static void a_chunk_that_comes_again_is_acknowledged_again_and_stored_once(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    profiler = is_planned(w, a);
    uploads(w, a, 1, profiler, 1, &burn);
    turn_until_count(w, "it is acknowledged", &a->acks, 1);
    uploads(w, a, 1, profiler, 1, &burn); /* the same number on the same connection */
    turn_until_count(w, "it is acknowledged again", &a->acks, 2);
    uploads(w, a, 2, profiler, 1, &burn); /* the same chunk under a new number */
    turn_until_count(w, "it is acknowledged under that", &a->acks, 3);
    assert_int_equal(a->ack.number, 2);
    assert_int_equal(store_read_counters(w->store).chunks, 1);
    assert_int_equal(ingest_read_counters(w->ingest).duplicates, 1);
}

static void after_a_reconnect_numbers_begin_anew_and_nothing_is_stored_twice(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    profiler = is_planned(w, a);
    w->hold_store = true;
    uploads(w, a, 7, profiler, 1, &burn);
    turn_around(w, a);
    channel_close(a->channel); /* before the acknowledgement */
    turn_until_down(w, a);
    w->hold_store = false;
    a = connects(w, 1);
    introduces_itself(w, a, "web-1");
    uploads(w, a, 1, profiler, 1, &burn);
    turn_until_count(w, "it is acknowledged", &a->acks, 1);
    assert_int_equal(a->ack.number, 1);
    assert_int_equal(store_read_counters(w->store).chunks, 1);
}

static void a_chunk_of_anothers_profiler_is_refused_and_acknowledged(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0), *b = connects(w, 1);
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    introduces_itself(w, b, "web-2");
    profiler = is_planned(w, a);
    uploads(w, b, 1, profiler, 1, &burn);
    turn_until_count(w, "the chunk is done with", &b->acks, 1);
    assert_int_equal(b->refusal.reason, REFUSAL_NOT_YOURS);
    assert_int_equal(b->refusal.number, 1);
    assert_int_equal(b->refusal.about, MESSAGE_CHUNK);
    assert_int_equal(b->ack.number, 1); /* so that it is not sent for ever */
    assert_int_equal(store_read_counters(w->store).chunks, 0);
}

static void a_chunk_of_no_profiler_at_all_is_refused(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    introduces_itself(w, a, "web-1");
    uploads(w, a, 1, id128_random(), 1, &burn);
    turn_until_count(w, "the chunk is done with", &a->acks, 1);
    assert_int_equal(a->refusal.reason, REFUSAL_UNKNOWN_PROFILER);
    assert_int_equal(server_counter(w, "refused_unknown_profiler"), 1);
}

static void damaged_bytes_of_a_chunk_are_refused(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct message m = {
        .type = MESSAGE_CHUNK,
        .chunk = {.number = 1, .bytes = {(const uint8_t *)"not a chunk", 11}},
    };

    introduces_itself(w, a, "web-1");
    says(w, a, &m);
    turn_until_count(w, "the chunk is done with", &a->acks, 1);
    assert_int_equal(a->refusal.reason, REFUSAL_MALFORMED);
    assert_int_equal(a->refusal.number, 1);
}

static void an_agent_that_ignores_its_window_is_paused_then_served(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    profiler = is_planned(w, a);
    w->hold_store = true;
    for (uint64_t i = 1; i <= 8; i++) /* twice the window */
        uploads(w, a, i, profiler, i, &burn);
    turn_around(w, a);
    assert_int_equal(server_counter(w, "pauses"), 1);
    w->hold_store = false;
    while (a->ack.number < 8)
        turn_until_count(w, "more is acknowledged", &a->acks, a->acks + 1);
    turn_around(w, a);
    assert_int_equal(store_read_counters(w->store).chunks, 8);
}

/* ---- symbols ---- */

static void answers(struct link_world *w, struct agent_end *a, const struct build_id *id,
                    uint32_t parts, struct slice bytes)
{
    struct message m = {.type = MESSAGE_SYMBOLS,
                        .symbols = {.id = *id, .parts = parts, .bytes = bytes}};

    if (parts == 0)
        strcpy(m.symbols.reason, "the file is gone");
    says(w, a, &m);
}

static void symbols_are_asked_of_who_runs_the_binary_and_stored(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0), *b = connects(w, 1);
    struct symtab symbols = {0};
    struct blob packed;
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    introduces_itself(w, b, "web-2");
    profiler = is_planned(w, a);
    uploads(w, a, 1, profiler, 1, &burn);
    turn_until_count(w, "the symbols are asked for", &a->wanted_messages, 1);
    assert_int_equal(a->wanted_count, 1);
    assert_true(build_id_equal(&a->wanted[0], &burn));
    assert_int_equal(b->wanted_count, 0);

    assert_int_equal(symtab_add(&symbols, 0x1000, 0x1000, "work"), ST_OK);
    symtab_sort(&symbols);
    assert_int_equal(symtab_encode(&symbols, &packed), ST_OK);
    symtab_deinit(&symbols);
    answers(w, a, &burn, 1, blob_slice(&packed));
    blob_deinit(&packed);
    uploads(w, a, 2, profiler, 2, &burn);
    turn_until_count(w, "the next chunk is acknowledged", &a->acks, 2);
    turn_around(w, a);
    assert_int_equal(server_counter(w, "symbols_got"), 1);
    assert_int_equal(server_counter(w, "symbols_missing"), 0);
    assert_int_equal(a->wanted_count, 1); /* once for each build id */
}

static void symbols_that_nobody_asked_for_are_refused(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0);

    introduces_itself(w, a, "web-1");
    answers(w, a, &burn, 1, (struct slice){(const uint8_t *)"x", 1});
    turn_until_count(w, "they are refused", &a->refusals, 1);
    assert_int_equal(a->refusal.reason, REFUSAL_NOT_WANTED);
}

static void a_host_without_the_symbols_is_followed_by_another(void **state)
{
    struct link_world *w = *state;
    struct agent_end *a = connects(w, 0), *b = connects(w, 1);
    struct id128 profiler;

    introduces_itself(w, a, "web-1");
    introduces_itself(w, b, "web-2");
    profiler = is_planned(w, a);
    uploads(w, a, 1, profiler, 1, &burn);
    turn_until_count(w, "the symbols are asked for", &a->wanted_count, 1);
    answers(w, a, &burn, 0, (struct slice){0});
    turn_around(w, a);
    assert_int_equal(server_counter(w, "symbols_lacking"), 1);
    turn_until_count(w, "web-2 has its plan", &b->plans, 2);
    uploads(w, b, 1, b->plan.items[0].profiler, 1, &burn);
    turn_until_count(w, "its chunk is stored", &b->acks, 1);
    passes(w, 3600); /* everybody asked so far had none: that rests for an hour */
    turn_until_down(w, a);
    turn_until_down(w, b);
    a = connects(w, 2);
    introduces_itself(w, a, "web-3");
    turn_until_count(w, "the next one is asked", &a->wanted_count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        link_test(an_agent_that_says_hello_is_welcomed_and_planned),
        link_test(nothing_is_taken_before_a_hello),
        link_test(a_connection_without_a_hello_is_closed_at_its_deadline),
        link_test(hello_is_said_once),
        link_test(a_newer_connection_takes_over_and_the_older_is_told),
        link_test(a_silent_agent_is_closed),
        link_test(malformed_bytes_are_refused_and_the_connection_kept),
        link_test(an_unknown_message_is_refused_by_that_name),
        link_test(the_coordinators_own_messages_are_not_taken),
        link_test(another_protocol_version_is_told_and_closed),
        link_test(a_frame_over_the_limit_closes_the_connection),
        link_test(whoever_only_talks_nonsense_is_closed),
        link_test(a_chunk_is_acknowledged_only_when_it_is_durable),
        link_test(acknowledgements_are_cumulative),
        link_test(a_chunk_that_comes_again_is_acknowledged_again_and_stored_once),
        link_test(after_a_reconnect_numbers_begin_anew_and_nothing_is_stored_twice),
        link_test(a_chunk_of_anothers_profiler_is_refused_and_acknowledged),
        link_test(a_chunk_of_no_profiler_at_all_is_refused),
        link_test(damaged_bytes_of_a_chunk_are_refused),
        link_test(an_agent_that_ignores_its_window_is_paused_then_served),
        link_test(symbols_are_asked_of_who_runs_the_binary_and_stored),
        link_test(symbols_that_nobody_asked_for_are_refused),
        link_test(a_host_without_the_symbols_is_followed_by_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
