/* world - the control plane over a real store in a directory of its own, with held time, and agents
 * that exist only as links: what control sends them is kept. */
#ifndef TESTS_UNIT_CONTROL_WORLD_H
#define TESTS_UNIT_CONTROL_WORLD_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "coordinator/control/control.h"

enum { WORLD_LINKS_MAX = 16 };

struct said { /* to one link, the last of its kind */
    struct plan plan;
    uint32_t plans, welcomes, refusals;
    enum refusal_reason refusal;
    bool closed;
};

struct world {
    char directory[64];
    struct store *store;
    struct control *control;
    pthread_mutex_t lock;
    pthread_cond_t rung;
    bool ringing; /* the store's writer has something done */
    struct mono now;
    struct wall wall;
    struct said said[WORLD_LINKS_MAX];
    uint32_t changes; /* of sessions, told by control */
    enum status done; /* of the last command */
    uint32_t commands_done;
};

int world_set_up(void **state);
int world_tear_down(void **state);
/* The coordinator dies and starts again over the same store; every link is gone. */
void world_restart(struct world *w);
void world_settle(struct world *w); /* until nothing waits in the store */
void world_pass(struct world *w,
                unsigned seconds); /* of time, with a tick each; heartbeats do not */

struct link *world_link(unsigned number); /* 1 to WORLD_LINKS_MAX - 1 */
struct said *said_to(struct world *w, unsigned link);
const struct plan_item *only_item(struct world *w, unsigned link); /* of the last plan */

/* `labels`: "service=checkout", or NULL. `running`: zero ends it. */
struct hello_of {
    const char *host, *labels;
    uint64_t incarnation, revision;
    struct id128 running[4];
};
void says_hello(struct world *w, unsigned link, struct hello_of h);
void says_heartbeat(struct world *w, unsigned link, uint64_t spool_chunks);
void says_state(struct world *w, unsigned link, struct id128 profiler, enum profiler_state state,
                uint64_t last_sequence, const char *reason);
void acknowledges(struct world *w, unsigned link, uint64_t revision);

/* Starts and waits until it is durable and planned. */
uint64_t starts(struct world *w, const char *selector, uint32_t hz, unsigned seconds);
void stops(struct world *w, uint64_t session);

/* A chunk of 99 samples a second is stored, and control told of it: from `first` to `last` seconds
 * after the world's beginning. */
void stores_chunk(struct world *w, const char *host, struct id128 profiler, uint64_t sequence,
                  unsigned first, unsigned last, bool final);

struct session_view view_of(struct world *w, uint64_t session);
const struct session_host_view *host_of(struct world *w, uint64_t session, const char *host);
enum session_state state_of(struct world *w, uint64_t session);

#define world_test(f) cmocka_unit_test_setup_teardown(f, world_set_up, world_tear_down)

#endif
