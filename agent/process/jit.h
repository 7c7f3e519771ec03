/* jit - names of the code that one process makes while it runs, from the perf map that it writes to
 * /tmp/perf-PID.map in its own mount and pid namespaces. A map is believed only if it belongs to
 * the process's user or to root and was written since the process began. Reading is paced: a little
 * of each map at a time, and so much of all maps a second. Loop thread only. */
#ifndef AGENT_PROCESS_JIT_H
#define AGENT_PROCESS_JIT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/status.h"

enum {
    JIT_READ_MAX = 256 << 10, /* at one time, bytes: some 2 ms */
    JIT_READ_PER_S = 2 << 20, /* of all maps: 1 to 2 % of a CPU while they are caught up with */
    JIT_FILE_MAX = 64 << 20, /* of a larger file only the newest part is read */
};

struct jit; /* opaque */

struct jit_pool { /* what the maps of all processes share; zero to begin with */
    uint64_t bytes; /* memory that their names take */
    struct mono paced; /* when the next was last known: */
    uint64_t readable; /* bytes that may be read of them */
};

/* `elder`: the pid, in its own namespace, of the process whose map this one inherited with its
 * code; 0: none. The pool outlives it. */
enum status jit_new(struct jit_pool *pool, uint32_t pid, uint64_t start_ns, uint32_t elder,
                    struct jit **out);
void jit_free(struct jit *j); /* NULL is fine */

/* Reads what has been added, if it is time to look. True: there is something new. */
bool jit_follow(struct jit *j, struct mono now);

const char *jit_find(struct jit *j, uint64_t address); /* NULL; until the next jit_follow */
bool jit_has_trampolines(const struct jit *j, uint64_t start, uint64_t end); /* as perfmap's */
uint32_t jit_elder(const struct jit *j); /* of a child; 0: it has no names to inherit */

#endif
