/* agent - one host's daemon: applies the plan it is given, and turns samples into spooled,
 * acknowledged chunks. This is the wiring: it owns the libuv loop's handles and reads the clocks.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/config.h"
#include "common/status.h"

struct agent_config {
    char *coordinator; /* channel URL */
    char *host; /* identity; default: the node name */
    char *spool; /* directory */
    uint64_t spool_bytes;
    uint64_t spool_age_ns;
    char *scope_cgroup; /* NULL: whole host */
    struct config_list labels; /* "key=value" */
    uint64_t ring_bytes;
};

extern const struct config_key agent_config_keys[];
extern const size_t agent_config_key_count;

struct agent; /* opaque */

enum { AGENT_WHY_MAX = 512 };

/* Runs until agent_stop; returns what ended it. */
enum status agent_new(const struct agent_config *config, struct agent **out,
                      char why[AGENT_WHY_MAX]);
enum status agent_run(struct agent *a);
void agent_stop(struct agent *a); /* async-signal-safe and thread-safe */
void agent_free(struct agent *a);

#endif
