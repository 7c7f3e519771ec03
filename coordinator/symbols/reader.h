/* reader - reads a debug file that a server sent in a process of its own: a file made to break its
 * reader, or to exhaust it, ends that process and nothing else. The process is this program again,
 * with READER_OPTION as its first argument; it has limits of memory, time and output, and none of
 * the daemon's descriptors. */
#ifndef COORDINATOR_SYMBOLS_READER_H
#define COORDINATOR_SYMBOLS_READER_H

#include <stdatomic.h>

#include "common/compress.h"
#include "common/id.h"
#include "common/status.h"

#define READER_OPTION "--read-debug-file"

enum {
    READER_CPU_S = 60,
    READER_TOTAL_S = 120, /* by the clock on the wall; the machine may be busy */
};
#define READER_MEMORY_MAX (UINT64_C(1) << 30) /* half of what the service's unit allows */

/* `out`: a packed symbol table. ST_INVALID: not a debug file of that build id; ST_NOT_FOUND: it has
 * no names; ST_TOO_BIG: it ran into a limit or crashed; ST_CLOSED: `stop` was set; ST_IO; ST_NOMEM.
 * Any thread. */
enum status reader_run(int fd, const struct build_id *id, const atomic_bool *stop,
                       struct blob *out);

/* What the process does: stdin is the file, stdout takes the table. Returns its exit code. */
int reader_main(const char *build_id);

#endif
