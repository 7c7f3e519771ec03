/* agent - one host's daemon: applies the plan it is given, and turns samples into spooled,
 * acknowledged chunks. This is the wiring: it owns the libuv loop's handles and reads the clocks.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/source.h"
#include "common/config.h"
#include "common/status.h"

struct agent_config {
    char *coordinator; /* channel URL */
    bool insecure_plain; /* it may lie over a network, without TLS */
    char *host; /* identity; NULL: the node name */
    char *spool; /* directory */
    uint64_t spool_bytes;
    uint64_t spool_age; /* ns */
    char *scope_cgroup; /* NULL: the whole host */
    struct config_list labels; /* "key=value" */
    uint64_t ring_bytes; /* 0: the sampler's default */
    uint64_t jit_bytes; /* most memory for names of JIT code */
    struct config_list process_environment, process_arguments; /* may leave the host, as labels */
};

extern const struct config_key agent_config_keys[];
extern const size_t agent_config_key_count;

/* What must hold beyond the single keys. ST_INVALID: `why` names the value and what is accepted. */
enum status agent_config_check(const struct agent_config *config, char why[CONFIG_WHY_MAX]);

enum { AGENT_WHY_MAX = 512 };

struct agent; /* opaque */

/* Takes `source` over, also on failure. `why` names the value or the file at fault. */
enum status agent_new(const struct agent_config *config, struct source *source, struct agent **out,
                      char why[AGENT_WHY_MAX]);
/* Until SIGTERM, SIGINT or agent_stop. What was sampled is in the spool when it returns. */
enum status agent_run(struct agent *a);
void agent_stop(struct agent *a); /* any thread */
void agent_free(struct agent *a); /* NULL is fine */

#endif
