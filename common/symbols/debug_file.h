/* debug_file - finds the separate file that has a binary's debug information, as Debian's -dbgsym
 * packages bring it. A file counts only once its build id, or its checksum, has been verified: one
 * that is left over from another version must not name anything. Any thread. */
#ifndef COMMON_SYMBOLS_DEBUG_FILE_H
#define COMMON_SYMBOLS_DEBUG_FILE_H

#include "common/id.h"
#include "common/status.h"
#include "common/symbols/elf_file.h"

#define DEBUG_FILE_ROOT "/usr/lib/debug"

enum { DEBUG_FILE_BYTES_MAX = 1 << 30 }; /* larger ones are not looked at */

/* ROOT/.build-id/xx/yyyy.debug, else what .gnu_debuglink names beside the binary, in .debug there
 * or under ROOT. `fd` is the binary's and `f` that file. ST_NOT_FOUND. */
enum status debug_file_open(const char *root, int fd, struct elf_file *f, int *out_fd);

/* The file that dwz moved common entries of `f` to. ST_NOT_FOUND: it is not there; ST_OK with
 * *out_fd -1: there is no need of one. */
enum status debug_file_open_alternate(const char *root, struct elf_file *f, int *out_fd);

#endif
