/* symbol_desk - which binaries' symbols are missing, and which peer to ask for each.
 * Knows peers as opaque pointers, talks to nobody and reads no clock. Every binary is asked of one
 * peer at a time; a peer that has none, or does not deliver in time, is followed by the next one
 * that runs the binary. Loop thread only. */
#ifndef COORDINATOR_SYMBOL_DESK_H
#define COORDINATOR_SYMBOL_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/id.h"
#include "common/status.h"

enum {
    SYMBOL_DESK_MAX = 65536, /* binaries without symbols at once; 160 bytes each */
    SYMBOL_DESK_PEERS_MAX = 4, /* peers remembered for a binary: enough when one dies */
    SYMBOL_DESK_ASKED_MAX = 8, /* uploads that one peer is asked for at once ... */
    SYMBOL_DESK_ASKED_ALL_MAX = 32, /* ... and all of them: INGEST_UPLOADS_MAX */
};
#define SYMBOL_DESK_PATIENCE_NS (60 * NS_PER_S) /* for the next part of an upload */
#define SYMBOL_DESK_AGAIN_NS (3600 * NS_PER_S) /* until a binary that nobody had is asked again */

struct symbol_desk; /* opaque */

enum status symbol_desk_new(struct symbol_desk **out);
void symbol_desk_free(struct symbol_desk *d); /* NULL is fine */

/* `peer` runs the binary. ST_FULL: the desk is at its limit; it will be told again. */
enum status symbol_desk_want(struct symbol_desk *d, const struct build_id *id, void *peer,
                             struct mono now);
/* Chooses at most `max` binaries to ask of `peer` now, and takes them as asked. */
uint32_t symbol_desk_ask(struct symbol_desk *d, void *peer, struct mono now, struct build_id *out,
                         uint32_t max);
/* A part has come: true if this peer was asked, and then it has time for the next. */
bool symbol_desk_heard(struct symbol_desk *d, const struct build_id *id, void *peer,
                       struct mono now);
/* Stored: forget it. Returns the peer that delivered, who can be asked for more, or NULL. */
void *symbol_desk_got(struct symbol_desk *d, const struct build_id *id);
/* The answer could not be taken for now: it is free to be asked for again. */
void symbol_desk_put_back(struct symbol_desk *d, const struct build_id *id);
/* The one who was asked cannot deliver: ask another. Returns one to look after, or NULL. */
void *symbol_desk_lacks(struct symbol_desk *d, const struct build_id *id, struct mono now);

/* Takes the peer off the desk; `look_after` is called for peers that can be asked instead. */
void symbol_desk_gone(struct symbol_desk *d, void *peer, void (*look_after)(void *arg, void *peer),
                      void *arg);
/* Gives up what has waited too long; `look_after` as above. */
void symbol_desk_expire(struct symbol_desk *d, struct mono now,
                        void (*look_after)(void *arg, void *peer), void *arg);
uint32_t symbol_desk_count(const struct symbol_desk *d); /* binaries that are missing */
/* Those of them that a connected peer has been or can be asked for: they may come any moment. */
uint32_t symbol_desk_pending(const struct symbol_desk *d);
bool symbol_desk_is_pending(const struct symbol_desk *d, const struct build_id *id);

#endif
