/* link_server - where agents connect: listeners, their connections, and what is counted of them.
 * The agents' side of the daemon over common/channel.h. Reads no clock. Loop thread only. */
#ifndef COORDINATOR_LINK_SERVER_H
#define COORDINATOR_LINK_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/config.h"
#include "common/message.h"
#include "common/status.h"
#include "coordinator/control/control.h"
#include "coordinator/ingest/ingest.h"
#include "coordinator/store/store.h"

enum {
    LINK_CONNECTIONS_MAX = CONTROL_AGENTS_MAX + 100, /* and some that have not said hello */
    LINK_QUEUED_MAX =
        4 << 20, /* unsent bytes of a connection; ours are plans and acknowledgements */
    LINK_SERVER_WHY_MAX = 256,
};

struct link_server; /* opaque */

struct link_server_options {
    struct control *control;
    struct ingest *ingest;
    struct store *store;
    uint32_t window; /* chunks that an agent may have unacknowledged */
    struct mono now;
    struct wall wall;
    void (*wake)(void *arg); /* on any thread: call link_server_drain on the loop soon */
    void *arg;
};

enum status link_server_open(const struct link_server_options *options, struct link_server **out);
/* ST_INVALID, ST_EXISTS, ST_DENIED, ST_IO: `why` names the URL. */
enum status link_server_listen(struct link_server *s, const char *url,
                               char why[LINK_SERVER_WHY_MAX]);
uint16_t link_server_port(const struct link_server *s); /* of the first tcp listener; 0: none */
/* No callback of control or ingest may follow: nothing of theirs is waiting. NULL is fine. */
void link_server_close(struct link_server *s);

/* Tells the time, as control_time does. */
void link_server_time(struct link_server *s, struct mono now, struct wall wall);
void link_server_drain(struct link_server *s); /* after `wake` */
void link_server_attend(struct link_server *s); /* after store_complete */
void link_server_tick(struct link_server *s); /* each second */

/* Takes no more connections and no more chunks; what is in work is still acknowledged. */
void link_server_quiesce(struct link_server *s);
bool link_server_is_quiet(const struct link_server *s); /* everything said has left */

/* For control_options; `arg` is the caller's affair. */
void link_server_send(struct link *l, const struct message *m);
void link_server_close_link(struct link *l);

/* An agent of `server`, a link_server, has been or can be asked for the binary's symbols. */
bool link_server_expects_symbols(void *server, const struct build_id *id);

void link_server_counters(const struct link_server *s,
                          void (*visit)(void *to, const char *name, uint64_t value), void *to);

#endif
