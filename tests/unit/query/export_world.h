/* export_world - a store with a few binaries, symbols and stacks, and a hand-made profile of them:
 * names that need escaping, addresses without symbols, one name in two binaries, recursion, weights
 * that are no whole ns. */
#ifndef TESTS_UNIT_QUERY_EXPORT_WORLD_H
#define TESTS_UNIT_QUERY_EXPORT_WORLD_H

#include <semaphore.h>

#include "coordinator/query/profile.h"
#include "coordinator/query/symbolize.h"

enum { WORLD_CELLS_MAX = 16, WORLD_FRAMES = 9, WORLD_NODES = 9, WORLD_BINARIES = 4 };

struct export_world {
    char directory[64];
    sem_t woken; /* by the store */
    struct store *store;
    struct store_view *view;
    struct symbol_cache *cache;
    struct symbolizer *symbolizer;
    const struct dictionary *dictionary;
    uint32_t binaries[WORLD_BINARIES], frames[WORLD_FRAMES], nodes[WORLD_NODES]; /* ids */
    struct profile profile; /* of the arrays below */
    char *hosts[2], *services[1];
    struct profile_task tasks[2];
    struct profile_replicate replicates[2];
    struct profile_cell cells[WORLD_CELLS_MAX];
};

/* For cmocka: *state is a struct export_world. */
int export_world_set_up(void **state);
int export_world_tear_down(void **state);

void export_world_empty(struct export_world *w); /* takes every sample out of the profile */

#endif
