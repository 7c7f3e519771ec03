/* binaries - every distinct binary that was ever seen mapped, by its build id. Entries live as long
 * as the registry, so that pointers and indexes stay good. Loop thread only. */
#ifndef AGENT_PROCESS_BINARIES_H
#define AGENT_PROCESS_BINARIES_H

#include <stdint.h>

#include "agent/process/mapped_file.h"
#include "agent/process/process.h"

enum {
    BINARIES_MAX = 1 << 16, /* some 200 bytes each; a host has a few thousand */
    BINARIES_FILES_MAX = 1 << 16, /* remembered files; one binary may have many copies */
    BINARIES_OPEN_MAX = 256, /* kept open so that deleted ones can be read: a quarter of the usual
                                RLIMIT_NOFILE */
};

struct binaries; /* opaque */

enum status binaries_new(struct binaries **out);
void binaries_free(struct binaries *b);

/* The binary behind a mapping; *out NULL: anonymous memory. Files that cannot be read get an entry
 * by path, with an empty id, and are counted. ST_FULL, ST_NOMEM. */
enum status binaries_intern(struct binaries *b, const struct mapped_file *file,
                            const struct binary **out);

/* As processes_open_binary. */
enum status binaries_open(struct binaries *b, const struct build_id *id, int *out_fd);

uint32_t binaries_count(const struct binaries *b);
uint64_t binaries_unreadable(const struct binaries *b);

#endif
