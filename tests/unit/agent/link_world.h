/* link_world - an agent's link, its spool, and a coordinator made by hand on loopback. The network
 * is real; the time is held and passes when the test says so. */
#ifndef TESTS_UNIT_AGENT_LINK_WORLD_H
#define TESTS_UNIT_AGENT_LINK_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/link.h"
#include "tests/unit/agent/far_end.h"

struct world {
    struct far_end far;
    char url[64];
    char directory[64];
    struct spool *spool;
    struct link *link;
    int wake_fd;
    struct mono now; /* held */
    int64_t wall_step_ns; /* somebody has set the wall clock by that much */
    uint32_t welcomed, plans, wanted;
    uint64_t plan_revision;
};

extern struct world world;
extern uint32_t world_goal; /* for conditions that count */

int world_make(void **state); /* nothing is dialed yet */
int world_drop(void **state);

struct wall world_wall(void);
int64_t world_clock_offset_ns(void); /* of the link, now */
void world_tick(void);
void world_pass(uint64_t ns); /* and a tick */
/* Lets both ends work off what has come; the second until `done`, or the test fails after 20 s. */
void world_pump_once(void);
void world_pump(bool (*done)(void));
void world_pump_to(bool (*done)(void), uint32_t goal);

bool world_is_up(void);
bool world_is_down(void);
bool world_hello_heard(void); /* `world_goal` times, and the last agent is still there */
bool world_chunks_came(void); /* `world_goal` of them */
bool world_far_sees_no_one(void);

void world_greet(uint32_t hello); /* up to the `hello`th hello */
void world_connect(uint32_t window); /* up to the welcome */
void world_lose_connection(void);
/* Of 10 samples each; the first bytes ascend from `first_byte`. */
void world_add_chunks(uint8_t first_byte, uint32_t count);
uint64_t world_chunks_waiting(void);

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_make, world_drop)

#endif
