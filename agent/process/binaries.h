/* binaries - every distinct binary that is mapped or was lately, by its build id. When many have
 * gathered, a sweep drops those that have not been mapped for the longest; pointers to one that is
 * still mapped stay good. Loop thread only. */
#ifndef AGENT_PROCESS_BINARIES_H
#define AGENT_PROCESS_BINARIES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/mapped_file.h"
#include "agent/process/process.h"

enum {
    BINARIES_MAX = 1 << 14, /* some 250 bytes each, so 4 MiB; a host has a few thousand */
    BINARIES_MANY = BINARIES_MAX / 4 * 3, /* then it is time to sweep */
    BINARIES_SWEPT = BINARIES_MAX / 2, /* what a sweep leaves, if they are not all mapped */
    BINARIES_FILES_MAX = 1 << 14, /* remembered files; one binary may have many copies */
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

/* Whether it is worth while to call binaries_keep for each that is mapped, then binaries_sweep. */
bool binaries_are_many(const struct binaries *b);
void binaries_keep(struct binaries *b, const struct binary *mapped);
void binaries_sweep(struct binaries *b);

uint32_t binaries_count(const struct binaries *b);
uint64_t binaries_unreadable(const struct binaries *b);
uint64_t binaries_dropped(const struct binaries *b);

#endif
