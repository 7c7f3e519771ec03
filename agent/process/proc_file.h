/* proc_file - reads a file of /proc/PID. Any thread. */
#ifndef AGENT_PROCESS_PROC_FILE_H
#define AGENT_PROCESS_PROC_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"
#include "common/wire.h"

/* The caller closes. ST_NOT_FOUND: the process is gone, or not ours to read. */
enum status proc_file_open(uint32_t pid, const char *name, int *out_fd);

/* As much as there is and fits into `bytes`, of which *out is a part. ST_NOT_FOUND: as above, or
 * nothing to read. */
enum status proc_file_read(uint32_t pid, const char *name, uint8_t *bytes, size_t room,
                           struct slice *out);

/* All of it up to `limit`; the caller frees. ST_NOMEM too. */
enum status proc_file_read_large(uint32_t pid, const char *name, size_t limit, uint8_t **out_bytes,
                                 struct slice *out);

#endif
