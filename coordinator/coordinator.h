/* coordinator - fleetprofd: the wiring. Owns the libuv loop's handles and reads the clocks; starts
 * store, ingest, control, agents' link and HTTP in that order and stops them in reverse. */
#ifndef COORDINATOR_COORDINATOR_H
#define COORDINATOR_COORDINATOR_H

#include <stdint.h>

#include "common/config.h"
#include "common/status.h"

struct coordinator_config {
    char *store; /* directory */
    struct config_list listen; /* channel URLs for agents; default tcp://127.0.0.1:7100 */
    char *http_socket; /* UNIX socket of the API; default /run/fleetprof/api.sock */
    char *http_host; /* loopback address; default 127.0.0.1 */
    uint64_t http_port; /* default 7180; 0: none */
    uint64_t map_bytes;
    uint64_t window; /* chunks an agent may have unacknowledged */
};

extern const struct config_key coordinator_config_keys[];
extern const size_t coordinator_config_key_count;

struct coordinator; /* opaque */

enum { COORDINATOR_WHY_MAX = 512 };

enum status coordinator_new(const struct coordinator_config *config, struct coordinator **out,
                            char why[COORDINATOR_WHY_MAX]);
enum status coordinator_run(struct coordinator *c); /* until coordinator_stop */
void coordinator_stop(struct coordinator *c); /* async-signal-safe and thread-safe */
void coordinator_free(struct coordinator *c);

#endif
