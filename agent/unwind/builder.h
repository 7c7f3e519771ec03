/* builder - reads files' unwind tables on a thread of its own: the largest take 100 ms. The
 * smallest file comes first, so that nobody's libc waits for somebody's browser. All functions: one
 * thread, that of the owner. */
#ifndef AGENT_UNWIND_BUILDER_H
#define AGENT_UNWIND_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/unwind/file_rows.h"
#include "common/status.h"

enum { BUILDER_JOBS_MAX = 64 }; /* taken on: bounds the open files */

struct builder; /* opaque */

struct build {
    uint32_t binary; /* whatever number the owner gave */
    enum status status; /* file_rows_read's */
    uint64_t cpu_ns; /* what it took */
    struct file_rows rows; /* the taker's */
};

enum status builder_new(struct builder **out);
void builder_free(struct builder *b); /* waits for the file in hand; NULL is fine */

/* Takes the descriptor over. ST_FULL: BUILDER_JOBS_MAX are taken on, and the descriptor is not. */
enum status builder_submit(struct builder *b, uint32_t binary, int fd);
bool builder_collect(struct builder *b, struct build *out); /* false: nothing is done yet */

#endif
