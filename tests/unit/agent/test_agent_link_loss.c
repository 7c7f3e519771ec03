/* link, the agent's: when it gives a connection up, and how it comes back. */
#include "agent/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>

#include "common/log.h"
#include "tests/unit/agent/link_world.h"

static bool offset_is_negative(void)
{
    return world_clock_offset_ns() < 0;
}

/* ---- silence and back-off ---- */

static void silence_for_longer_than_the_limit_ends_the_connection(void **state)
{
    struct message reply = {.type = MESSAGE_HEARTBEAT_REPLY};

    (void)state;
    world_connect(4);
    world_pass(FAR_END_IDLE_NS - NS_PER_S);
    far_end_say(&world.far, &reply); /* any message will do */
    world_goal = 1;
    world_pump(offset_is_negative);
    world_pass(FAR_END_IDLE_NS - NS_PER_S);
    world_pump_once();
    assert_true(link_is_up(world.link));
    world_pass(NS_PER_S);
    world_pump(world_is_down);
    world_pump(world_far_sees_no_one);
    world_connect(4);
}

static uint64_t dials(void)
{
    return link_read_counters(world.link).dials;
}

/* How long it waits, to 10 ms, until it dials again. */
static uint64_t measure_wait(void)
{
    const uint64_t before = dials();
    uint64_t waited = 0;

    while (dials() == before && waited < 20 * NS_PER_S) {
        world_pass(10 * NS_PER_MS);
        waited += 10 * NS_PER_MS;
    }
    return waited;
}

static bool heard_the_ring(void)
{
    struct pollfd fd = {.fd = world.wake_fd, .events = POLLIN};

    return poll(&fd, 1, 50) == 1;
}

static void the_wait_between_attempts_doubles_to_its_limit(void **state)
{
    uint64_t bound = LINK_BACKOFF_MIN_NS;

    (void)state;
    far_end_close(&world.far);
    far_end_open(&world.far); /* on another port: nobody answers where the link dials */
    world_tick();
    assert_int_equal(dials(), 1);
    for (unsigned i = 0; i < 9; i++) {
        while (!heard_the_ring()) /* of the failure */
            continue;
        world_pump_once();
        assert_in_range(measure_wait(), bound / 2, bound + 10 * NS_PER_MS);
        bound = 2 * bound < LINK_BACKOFF_MAX_NS ? 2 * bound : LINK_BACKOFF_MAX_NS;
    }
}

static bool failure_was_seen(void)
{
    return world.far.channel == NULL && world.far.downs == world_goal && !link_is_up(world.link);
}

/* A connection that is taken and lost again: `welcome` or not in between. */
static uint64_t wait_after_loss(bool welcome)
{
    world_pump_to(world_hello_heard, world.far.heard[MESSAGE_HELLO] + 1);
    if (welcome) {
        far_end_welcome(&world.far, 8, world_wall());
        world_pump(world_is_up);
        if (world_chunks_waiting() > 0)
            world_pump_to(world_chunks_came, world.far.chunk_count + 1);
    }
    far_end_hang_up(&world.far);
    world_pump_to(failure_was_seen, world.far.downs + 1);
    for (unsigned i = 0; i < 2; i++) /* our own end may hear of it a moment later */
        world_pump_once();
    return measure_wait();
}

static void only_a_welcome_takes_the_wait_back_to_its_beginning(void **state)
{
    (void)state;
    world_tick();
    for (unsigned i = 0; i < 5; i++)
        (void)wait_after_loss(false);
    assert_true(wait_after_loss(false) > 10 * LINK_BACKOFF_MIN_NS);
    assert_true(wait_after_loss(true) <= LINK_BACKOFF_MIN_NS + 10 * NS_PER_MS);
}

static void a_coordinator_that_takes_no_chunk_is_not_pestered(void **state)
{
    (void)state;
    world_add_chunks('a', 1);
    world_tick();
    for (unsigned i = 0; i < 6; i++)
        (void)wait_after_loss(true);
    assert_true(wait_after_loss(true) > 10 * LINK_BACKOFF_MIN_NS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_WORLD(silence_for_longer_than_the_limit_ends_the_connection),
        WITH_WORLD(the_wait_between_attempts_doubles_to_its_limit),
        WITH_WORLD(only_a_welcome_takes_the_wait_back_to_its_beginning),
        WITH_WORLD(a_coordinator_that_takes_no_chunk_is_not_pestered),
    };

    log_set_level(LOG_LEVEL_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
