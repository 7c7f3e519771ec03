/* symbol_child - the agent's grip on a process that reads the names of one binary for it
 * (symbol_reader.h): starts it, waits for it, says how it ended. The agent itself never looks into
 * the file nor has the table in its memory. */
#ifndef AGENT_SYMBOL_CHILD_H
#define AGENT_SYMBOL_CHILD_H

#include <stdbool.h>

#include "agent/source.h"
#include "common/status.h"

struct symbol_child; /* opaque */

enum symbol_input { SYMBOL_INPUT_ELF, SYMBOL_INPUT_KALLSYMS };

/* Owns the descriptor on success. */
enum status symbol_child_new(int input, enum symbol_input kind, struct symbol_child **out);
void symbol_child_free(struct symbol_child *c); /* NULL is fine; none may be running */

/* Runs a reader to its end, and a second one for the names alone if the first did not survive the
 * places. Any thread; blocks. `out_fd` gets the packed table and is the caller's. `why` is set, to
 * other than "", if a reader died: then also with ST_OK. ST_NOT_FOUND: the binary has no symbols;
 * ST_CLOSED: killed. */
enum status symbol_child_run(struct symbol_child *c, int *out_fd, char why[SYMBOL_WHY_MAX]);

/* Ends the reader, if one runs, and lets none start. Any thread, at any time before free. */
void symbol_child_kill(struct symbol_child *c);

#endif
