/* mapped_file - gets hold of the very file that a process has mapped: in another mount namespace,
 * replaced on disk, deleted. Opens regular files only, and only for reading. Any thread. */
#ifndef AGENT_PROCESS_MAPPED_FILE_H
#define AGENT_PROCESS_MAPPED_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "common/status.h"

struct mapped_file { /* what is known about it; `path` is lent */
    uint32_t pid; /* 0: no process that has it mapped is known */
    const char *path; /* as that process sees it, " (deleted)" included */
    uint64_t start, end; /* of the mapping; end 0: not known */
    uint64_t inode; /* 0: not known */
    struct build_id id; /* by the kernel; length 0: not known */
};

/* Memory without a file, or with one that is only a detour to shared memory: JIT code. */
bool mapped_file_is_anonymous(const struct mapped_file *f);

/* The caller closes. The file has the id, or where none is known the inode or at least the path.
 * ST_NOT_FOUND: it cannot be reached any more, or not by us. */
enum status mapped_file_open(const struct mapped_file *f, int *out_fd);

#endif
