/* coordinator - fleetprofd: the wiring. Owns the libuv loop's handles and reads the clocks; starts
 * store, ingest, control, agents' link and HTTP in that order and stops them in reverse. */
#ifndef COORDINATOR_COORDINATOR_H
#define COORDINATOR_COORDINATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/config.h"
#include "common/status.h"

#define COORDINATOR_LISTEN_DEFAULT "tcp://127.0.0.1:7100"

struct coordinator_config {
    char *store; /* directory */
    struct config_list listen; /* channel URLs for agents; none: COORDINATOR_LISTEN_DEFAULT */
    char *http_socket; /* UNIX socket of the API; default /run/fleetprof/api.sock; "": none */
    char *http_host; /* default 127.0.0.1 */
    uint64_t http_port; /* default 7180; 0: none */
    uint64_t map_bytes; /* address space of a store file; 0: the store's default */
    uint64_t window; /* chunks an agent may have unacknowledged */
    bool insecure_plain; /* agents may connect over a network without TLS */
    struct config_list debuginfod; /* http(s) URLs of servers with debug files; none: not asked */
    uint64_t debuginfod_bytes; /* most that one debug file may have; default 256 MiB */
};

extern const struct config_key coordinator_config_keys[];
extern const size_t coordinator_config_key_count;

enum { COORDINATOR_WHY_MAX = 512 };

/* Whether the parts fit together. Without TLS only loopback is listened on, unless insecure_plain
 * says otherwise. ST_INVALID: `why` names the key, its value and what would be right. */
enum status coordinator_config_check(const struct coordinator_config *config,
                                     char why[COORDINATOR_WHY_MAX]);

struct coordinator; /* opaque */

/* Everything is open and bound when it returns. `why` says what could not be. */
enum status coordinator_new(const struct coordinator_config *config, struct coordinator **out,
                            char why[COORDINATOR_WHY_MAX]);
enum status coordinator_run(struct coordinator *c); /* until coordinator_stop, SIGTERM or SIGINT */
void coordinator_stop(struct coordinator *c); /* async-signal-safe and thread-safe */
void coordinator_free(struct coordinator *c); /* NULL is fine */

uint16_t coordinator_agent_port(const struct coordinator *c); /* of the first tcp listener */

#endif
