/* host_symbols - a binary of this host, or its kernel, opened for its names to be read. Loop
 * thread; the job it gives has a child process read them (symbol_child.h). */
#ifndef AGENT_HOST_SYMBOLS_H
#define AGENT_HOST_SYMBOLS_H

#include "agent/process/process.h"
#include "agent/source.h"
#include "agent/symbols/kernel.h"

/* ST_NOT_FOUND: this host does not have it (any more). */
enum status host_symbols_open(const struct kernel_symbols *kernel, struct processes *processes,
                              const struct build_id *id, struct symbol_job *out);

#endif
