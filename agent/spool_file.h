/* spool_file - one chunk on disk. All that is known of it stands in its name, so that a directory
 * listing tells what is there and a dropped file what was lost:
 *   chunk-<serial>-<when added>-<samples>-<checksum>      fixed-width hexadecimal
 * Private to spool. */
#ifndef AGENT_SPOOL_FILE_H
#define AGENT_SPOOL_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/clock.h"
#include "common/compress.h"
#include "common/status.h"

enum { SPOOL_NAME_MAX = 80 };

struct spool_file {
    uint64_t serial; /* ascends over all lives of the agent while the spool holds anything */
    struct wall added;
    uint32_t samples;
    uint64_t checksum;
};

uint64_t spool_file_checksum(struct slice bytes);

/* True for names that spool_file_write gives: `out_whole` says whether it came to its end. */
bool spool_file_parse(const char *name, struct spool_file *out, bool *out_whole);

/* The file is whole and on the disk, or not there. ST_NO_SPACE; ST_IO. */
enum status spool_file_write(int directory, const struct spool_file *f, struct slice bytes);

/* ST_INVALID: damaged or gone; ST_NOMEM and ST_IO may pass. */
enum status spool_file_read(int directory, const struct spool_file *f, struct blob *out);

void spool_file_remove(int directory, const struct spool_file *f, bool whole);

#endif
