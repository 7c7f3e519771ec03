/* tasks - who the samples belong to: a chunk's threads become (host, service, process name, thread
 * name), and those whose labels the window does not select are left out. */
#ifndef COORDINATOR_QUERY_TASKS_H
#define COORDINATOR_QUERY_TASKS_H

#include "common/chunk.h"
#include "coordinator/query/keys.h"
#include "coordinator/query/profile.h"
#include "coordinator/query/scope.h"
#include "coordinator/query/texts.h"

struct tasks { /* zero-initialised is empty */
    struct keys keys; /* a task's four fields */
    struct texts services;
    uint32_t *of_thread; /* the last chunk's: task by thread; PROFILE_NONE: not selected */
    uint32_t *of_process; /* the last chunk's: service by process, or UNSELECTED */
    uint32_t thread_capacity, process_capacity;
};

/* Fills of_thread. *out_any: at least one thread is selected. ST_NOMEM. */
enum status tasks_of_chunk(struct tasks *t, const struct dictionary *d, const struct scope *scope,
                           const struct scope_profiler *p, const struct chunk_samples *c,
                           bool *out_any);
struct profile_task tasks_get(const struct tasks *t, uint32_t task);
void tasks_deinit(struct tasks *t);

#endif
