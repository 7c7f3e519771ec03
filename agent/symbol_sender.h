/* symbol_sender - answers the coordinator's wish for symbols: one binary at a time is read
 * while a worker thread waits, and its table then sent in parts, as the link has room. Loop thread,
 * but for symbol_sender_work. */
#ifndef AGENT_SYMBOL_SENDER_H
#define AGENT_SYMBOL_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/source.h"
#include "common/message.h"

enum {
    SYMBOL_WISHES_MAX = 4096, /* build ids waiting; more are dropped: the coordinator asks again */
    SYMBOL_QUEUED_BYTES_MAX = 4 << 20, /* parts wait while the link has more than this unsent */
};

struct symbol_sender; /* opaque */

enum status symbol_sender_new(struct source *source, struct symbol_sender **out);
void symbol_sender_free(struct symbol_sender *s); /* NULL is fine; no work may be running */

void symbol_sender_want(struct symbol_sender *s, const struct symbols_wanted *w); /* each once */
void symbol_sender_reset(
    struct symbol_sender *s); /* a new connection: begin anew when asked anew */

/* True when there is work for a worker thread: call symbol_sender_work there, then
 * symbol_sender_worked on the loop. `say` gets refusals at once. */
typedef void symbol_say(void *arg, const struct message *m);
bool symbol_sender_begin(struct symbol_sender *s, symbol_say *say, void *arg);
void symbol_sender_work(struct symbol_sender *s); /* worker thread */
void symbol_sender_worked(struct symbol_sender *s, symbol_say *say, void *arg);

/* Lets work that is under way end soon, and drops its result. */
void symbol_sender_cancel(struct symbol_sender *s);

/* Says the next parts, while `queued_bytes` says that the link has room. */
void symbol_sender_pump(struct symbol_sender *s, size_t (*queued_bytes)(void *arg), symbol_say *say,
                        void *arg);

#endif
