/* link, the agent's: what it says to a coordinator, and what it keeps until it is acknowledged. */
#include "agent/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/log.h"
#include "tests/unit/agent/link_world.h"

static bool heartbeats_came(void)
{
    return world.far.heard[MESSAGE_HEARTBEAT] >= world_goal;
}

static bool refusals_came(void)
{
    return world.far.heard[MESSAGE_REFUSAL] >= world_goal;
}

static bool chunks_were_acknowledged(void)
{
    return link_read_counters(world.link).chunks_acknowledged >= world_goal;
}

static bool refusal_was_taken(void)
{
    return link_read_counters(world.link).chunks_refused == world_goal;
}

static bool plan_came(void)
{
    return world.plans >= world_goal;
}

static bool symbols_were_wanted(void)
{
    return world.wanted >= world_goal;
}

static bool plan_ack_came(void)
{
    return world.far.heard[MESSAGE_PLAN_ACK] >= world_goal;
}

/* ---- hello and welcome ---- */

static void the_first_message_is_a_hello_with_all_that_the_owner_says(void **state)
{
    (void)state;
    world_greet(1);
    assert_string_equal(world.far.hello.host, "web1");
    assert_int_equal(world.far.hello.incarnation, 77);
    assert_int_equal(world.far.hello.plan_revision, 5);
    assert_int_equal(world.far.hello.running_count, 1);
    assert_int_equal(world.far.hello_labels, 1);
    assert_int_equal(world.far.hello.sent.ns, world_wall().ns);
    assert_false(link_is_up(world.link));
}

static void a_welcome_brings_it_up_and_asks_for_reports(void **state)
{
    (void)state;
    world_connect(4);
    assert_int_equal(world.welcomed, 1);
    world_pump_to(heartbeats_came, 1); /* the first tells at once how much is spooled */
}

static void nothing_but_hello_is_said_before_the_welcome(void **state)
{
    const struct message report = {.type = MESSAGE_PLAN_ACK, .plan_ack = {.revision = 3}};

    (void)state;
    world_add_chunks('a', 2);
    world_greet(1);
    link_send(world.link, &report);
    world_pass(NS_PER_S);
    world_pump_once();
    assert_int_equal(world.far.chunk_count, 0);
    assert_int_equal(world.far.heard[MESSAGE_HEARTBEAT], 0);
    far_end_welcome(&world.far, 4, world_wall());
    world_pump_to(world_chunks_came, 2);
    assert_int_equal(world.far.heard[MESSAGE_PLAN_ACK], 0);
    link_send(world.link, &report);
    world_pump_to(plan_ack_came, 1);
}

static void without_a_welcome_in_time_it_hangs_up_and_tries_again(void **state)
{
    (void)state;
    world_greet(1);
    world_pass(LINK_WELCOME_NS - NS_PER_S);
    world_pump_once();
    assert_int_equal(world.far.downs, 0);
    world_pass(NS_PER_S);
    world_pump(world_far_sees_no_one);
    world_greet(2);
}

/* ---- heartbeats and clocks ---- */

static void heartbeats_come_at_the_rate_of_the_welcome(void **state)
{
    (void)state;
    world_add_chunks('a', 1);
    world_connect(1); /* the chunk stays: nobody acknowledges it */
    world_pump_to(heartbeats_came, 1);
    assert_int_equal(world.far.heartbeat.spool_chunks, 1);
    assert_int_equal(world.far.heartbeat.plan_revision, 5);
    assert_int_equal(world.far.heartbeat.cost.user_ns, 123);
    assert_int_equal(world.far.heartbeat.sent_mono.ns, world.now.ns);
    world_pass(FAR_END_HEARTBEAT_NS - 1);
    world_pump_once();
    assert_int_equal(world.far.heard[MESSAGE_HEARTBEAT], 1);
    world_pass(1);
    world_pump_to(heartbeats_came, 2);
}

static void a_welcome_tells_the_coordinators_clock(void **state)
{
    (void)state;
    world_greet(1);
    world.now.ns += 2 * NS_PER_MS; /* the round trip */
    far_end_welcome(&world.far, 4, (struct wall){world_wall().ns + 5 * NS_PER_S - NS_PER_MS});
    world_pump(world_is_up);
    assert_int_equal(world_clock_offset_ns(), 5 * (int64_t)NS_PER_S);
}

static bool offset_is_negative(void)
{
    return world_clock_offset_ns() < 0;
}

/* The coordinator's clock stays what it was: ten seconds must not pass until chunks say so. */
static void a_step_of_our_wall_clock_is_in_the_offset_at_once(void **state)
{
    (void)state;
    world_connect(4);
    assert_int_equal(world_clock_offset_ns(), 0);
    world.wall_step_ns = 3600 * (int64_t)NS_PER_S;
    assert_int_equal(world_clock_offset_ns(), -3600 * (int64_t)NS_PER_S);
    world.now.ns += NS_PER_S;
    assert_int_equal(world_clock_offset_ns(), -3600 * (int64_t)NS_PER_S);
    world.wall_step_ns = -5;
    assert_int_equal(world_clock_offset_ns(), 5);
}

static void before_the_first_welcome_no_offset_is_known(void **state)
{
    (void)state;
    world_greet(1);
    world.wall_step_ns = 77;
    assert_int_equal(world_clock_offset_ns(), 0);
}

static void the_answer_to_a_heartbeat_is_taken_for_the_middle_of_its_round_trip(void **state)
{
    struct message reply = {.type = MESSAGE_HEARTBEAT_REPLY};

    (void)state;
    world_connect(4);
    world_pump_to(heartbeats_came, 1);
    reply.heartbeat_reply.sent_mono = world.far.heartbeat.sent_mono;
    reply.heartbeat_reply.now.ns = world_wall().ns - 3 * NS_PER_S;
    far_end_say(&world.far, &reply);
    world_pump(offset_is_negative);
    assert_int_equal(world_clock_offset_ns(), -3 * (int64_t)NS_PER_S);
}

/* ---- chunks ---- */

static void no_more_chunks_are_under_way_than_the_window_allows(void **state)
{
    (void)state;
    world_add_chunks('a', 5);
    world_connect(2);
    world_pump_to(world_chunks_came, 2);
    world_pass(NS_PER_S);
    world_pump_once();
    assert_int_equal(world.far.chunk_count, 2);
    far_end_acknowledge(&world.far, world.far.chunk_numbers[0], 2);
    world_pump_to(world_chunks_came, 3);
    far_end_acknowledge(&world.far, world.far.chunk_numbers[2], 4);
    world_pump_to(world_chunks_came, 5);
    assert_memory_equal(world.far.chunk_first_bytes, "abcde", 5);
}

static void a_window_of_none_stops_it(void **state)
{
    (void)state;
    world_add_chunks('a', 3);
    world_connect(1);
    world_pump_to(world_chunks_came, 1);
    far_end_acknowledge(&world.far, world.far.chunk_numbers[0], 0);
    world_pump_to(chunks_were_acknowledged, 1);
    world_pass(NS_PER_S);
    world_pump_once();
    assert_int_equal(world.far.chunk_count, 1);
}

static void an_acknowledgement_deletes_all_up_to_it_and_nothing_after(void **state)
{
    (void)state;
    world_add_chunks('a', 4);
    world_connect(8);
    world_pump_to(world_chunks_came, 4);
    assert_int_equal(world_chunks_waiting(), 4);
    far_end_acknowledge(&world.far, world.far.chunk_numbers[2], 8);
    world_pump_to(chunks_were_acknowledged, 3);
    assert_int_equal(world_chunks_waiting(), 1);
    assert_true(link_has_unsent(world.link));
    far_end_acknowledge(&world.far, world.far.chunk_numbers[3], 8);
    world_pump_to(chunks_were_acknowledged, 4);
    assert_false(link_has_unsent(world.link));
}

static void numbers_ascend_within_a_connection(void **state)
{
    (void)state;
    world_add_chunks('a', 3);
    world_connect(8);
    world_pump_to(world_chunks_came, 3);
    assert_true(world.far.chunk_numbers[0] >= 1);
    assert_true(world.far.chunk_numbers[0] < world.far.chunk_numbers[1]);
    assert_true(world.far.chunk_numbers[1] < world.far.chunk_numbers[2]);
}

static void an_acknowledgement_of_what_was_never_sent_deletes_nothing_unsent(void **state)
{
    (void)state;
    world_add_chunks('a', 3);
    world_connect(1);
    world_pump_to(world_chunks_came, 1);
    far_end_acknowledge(&world.far, UINT64_MAX, 0);
    world_pump_to(chunks_were_acknowledged, 1);
    assert_int_equal(world_chunks_waiting(), 2);
}

static void chunks_that_come_later_are_sent_at_the_next_tick(void **state)
{
    (void)state;
    world_connect(4);
    world_add_chunks('z', 1);
    world_tick();
    world_pump_to(world_chunks_came, 1);
    assert_int_equal(world.far.chunk_first_bytes[0], 'z');
}

static void what_was_not_acknowledged_is_sent_again_after_a_reconnect(void **state)
{
    (void)state;
    world_add_chunks('a', 3);
    world_connect(8);
    world_pump_to(world_chunks_came, 3);
    far_end_acknowledge(&world.far, world.far.chunk_numbers[0], 8);
    world_pump_to(chunks_were_acknowledged, 1);
    world_lose_connection();
    world_connect(8);
    world_pump_to(world_chunks_came, 5);
    assert_memory_equal(world.far.chunk_first_bytes, "abcbc", 5);
    assert_int_equal(world_chunks_waiting(), 2);
    assert_int_equal(world.welcomed, 2);
}

static void a_refused_chunk_is_counted_and_goes_with_its_acknowledgement(void **state)
{
    struct message m = {.type = MESSAGE_REFUSAL};

    (void)state;
    world_add_chunks('a', 1);
    world_connect(8);
    world_pump_to(world_chunks_came, 1);
    m.refusal.about = MESSAGE_CHUNK;
    m.refusal.number = world.far.chunk_numbers[0];
    m.refusal.reason = REFUSAL_UNKNOWN_PROFILER;
    far_end_say(&world.far, &m);
    far_end_acknowledge(&world.far, world.far.chunk_numbers[0], 8);
    world_pump_to(refusal_was_taken, 1);
    world_pump_to(chunks_were_acknowledged, 1);
    assert_int_equal(world_chunks_waiting(), 0);
    assert_true(link_is_up(world.link));
}

/* ---- the rest of the conversation ---- */

static void plans_and_wishes_reach_the_owner(void **state)
{
    struct message plan = {.type = MESSAGE_PLAN, .plan = {.revision = 9}};
    struct message wish = {.type = MESSAGE_SYMBOLS_WANTED};

    (void)state;
    world_connect(4);
    far_end_say(&world.far, &plan);
    world_pump_to(plan_came, 1);
    assert_int_equal(world.plan_revision, 9);
    wish.symbols_wanted.count = 2;
    wish.symbols_wanted.ids[0] = (struct build_id){.length = 20, .bytes = {1}};
    wish.symbols_wanted.ids[1] = (struct build_id){.length = 20, .bytes = {2}};
    far_end_say(&world.far, &wish);
    world_pump_to(symbols_were_wanted, 2);
}

static void a_malformed_message_is_answered_and_ends_nothing(void **state)
{
    static const uint8_t rubbish[] = {0xc1, 0xff, 0x00};

    (void)state;
    world_connect(4);
    far_end_say_bytes(&world.far, (struct slice){rubbish, sizeof(rubbish)});
    world_pump_to(refusals_came, 1);
    assert_int_equal(world.far.refusal.reason, REFUSAL_MALFORMED);
    assert_true(world.far.refusal.text[0] != '\0');
    assert_int_equal(link_read_counters(world.link).malformed, 1);
    far_end_say_bytes(&world.far, (struct slice){rubbish, 0});
    world_pump_to(refusals_came, 2);
    assert_true(link_is_up(world.link));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(the_first_message_is_a_hello_with_all_that_the_owner_says),
        WITH_WORLD(a_welcome_brings_it_up_and_asks_for_reports),
        WITH_WORLD(nothing_but_hello_is_said_before_the_welcome),
        WITH_WORLD(without_a_welcome_in_time_it_hangs_up_and_tries_again),
        WITH_WORLD(heartbeats_come_at_the_rate_of_the_welcome),
        WITH_WORLD(a_welcome_tells_the_coordinators_clock),
        WITH_WORLD(a_step_of_our_wall_clock_is_in_the_offset_at_once),
        WITH_WORLD(before_the_first_welcome_no_offset_is_known),
        WITH_WORLD(the_answer_to_a_heartbeat_is_taken_for_the_middle_of_its_round_trip),
        WITH_WORLD(no_more_chunks_are_under_way_than_the_window_allows),
        WITH_WORLD(a_window_of_none_stops_it),
        WITH_WORLD(an_acknowledgement_deletes_all_up_to_it_and_nothing_after),
        WITH_WORLD(numbers_ascend_within_a_connection),
        WITH_WORLD(an_acknowledgement_of_what_was_never_sent_deletes_nothing_unsent),
        WITH_WORLD(chunks_that_come_later_are_sent_at_the_next_tick),
        WITH_WORLD(what_was_not_acknowledged_is_sent_again_after_a_reconnect),
        WITH_WORLD(a_refused_chunk_is_counted_and_goes_with_its_acknowledgement),
        WITH_WORLD(plans_and_wishes_reach_the_owner),
        WITH_WORLD(a_malformed_message_is_answered_and_ends_nothing),
    };

    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
