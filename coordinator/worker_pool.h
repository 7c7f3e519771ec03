/* worker_pool - libuv's threads as common/workers. Loop thread. */
#ifndef COORDINATOR_WORKER_POOL_H
#define COORDINATOR_WORKER_POOL_H

#include <stdint.h>

#include "common/workers.h"

struct uv_loop_s;

struct worker_pool {
    struct uv_loop_s *loop;
    uint32_t busy; /* submitted, not yet done */
};

struct workers worker_pool_workers(struct worker_pool *p); /* while p lives */

#endif
