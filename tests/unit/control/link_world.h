/* link_world - the agents' side of the daemon over a real store, ingest and control, and an agent
 * made by hand at the other end of a real connection. One thread turns everything; the
 * coordinator's time is held, the network's is not. */
#ifndef TESTS_UNIT_CONTROL_LINK_WORLD_H
#define TESTS_UNIT_CONTROL_LINK_WORLD_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/channel.h"
#include "common/message.h"
#include "coordinator/control/control.h"
#include "coordinator/link_server.h"

enum { LINK_WORLD_AGENTS = 3 };

struct agent_end { /* what one agent has heard */
    struct channel *channel; /* NULL: down */
    bool up;
    uint32_t welcomes, plans, acks, refusals, replies, wanted_messages;
    struct plan plan;
    struct chunk_ack ack;
    struct refusal refusal; /* the last */
    struct build_id wanted[8];
    uint32_t wanted_count;
};

struct link_world {
    char directory[64];
    pthread_mutex_t lock;
    pthread_cond_t rung;
    bool store_rings, links_ring, agents_ring;
    bool hold_store; /* the store's completions are not taken: nothing becomes known as durable */
    struct store *store;
    struct ingest *ingest;
    struct control *control;
    struct link_server *server;
    struct channel_hub *hub; /* the agents' */
    struct mono now;
    struct wall wall;
    struct agent_end agents[LINK_WORLD_AGENTS];
};

int link_world_set_up(void **state);
int link_world_tear_down(void **state);

struct agent_end *connects(struct link_world *w, unsigned agent);
void says(struct link_world *w, struct agent_end *a, const struct message *m);
void says_bytes(struct agent_end *a, const void *bytes, size_t length);
void introduces_itself(struct link_world *w, struct agent_end *a, const char *host);
/* Starts a session over all hosts, and waits for the agent's plan. */
struct id128 is_planned(struct link_world *w, struct agent_end *a);
/* One sample in "/usr/bin/burn" of that build id, within a window of a second. */
void uploads(struct link_world *w, struct agent_end *a, uint64_t number, struct id128 profiler,
             uint64_t sequence, const struct build_id *binary);
void passes(struct link_world *w, unsigned seconds); /* of held time; the server ticks once */

/* Turns everything until the condition holds; fails the test after ten seconds. */
void turn_until(struct link_world *w, const char *what, bool (*is)(void *arg), void *arg);
/* The same for one of an agent's counters. */
void turn_until_count(struct link_world *w, const char *what, const uint32_t *counter,
                      uint32_t count);
void turn_until_down(struct link_world *w, const struct agent_end *a);
/* Turns until everything said has been heard: a heartbeat's reply comes behind it. */
void turn_around(struct link_world *w, struct agent_end *a);
uint64_t server_counter(const struct link_world *w, const char *name);

#define link_test(f) cmocka_unit_test_setup_teardown(f, link_world_set_up, link_world_tear_down)

#endif
