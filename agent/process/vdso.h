/* vdso - the code that the kernel maps into every process; read from our own copy of it. */
#ifndef AGENT_PROCESS_VDSO_H
#define AGENT_PROCESS_VDSO_H

#include "common/status.h"

/* A descriptor of a file in memory with the image; the caller closes it. ST_NOT_FOUND: this process
 * has none. */
enum status vdso_open(int *out_fd);

#endif
