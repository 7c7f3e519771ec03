/* spool - chunks on disk until the coordinator holds them durably.
 * One file a chunk, written whole, synced and renamed, so a crash leaves a chunk or nothing.
 * Bounded by bytes and age; the oldest goes first, counted. Of a chunk that has to go its ledger
 * stays in its place, so that the coordinator learns what was lost, when and why. Survives
 * restarts. Loop thread only. `now` is a wall clock that does not step within one life of the
 * agent. */
#ifndef AGENT_SPOOL_H
#define AGENT_SPOOL_H

#include <stdint.h>

#include "common/clock.h"
#include "common/compress.h"
#include "common/status.h"

enum {
    /* Chunks without samples, those that had to go and those of an idle host: each takes a block of
     * 4 KiB beside bytes_max. 4 MiB, 2.8 hours of 10 s chunks; then the oldest goes. */
    SPOOL_BARE_MAX = 1024,
};

struct spool; /* opaque */

struct spool_options {
    const char *directory; /* made with mode 0700 when missing */
    uint64_t bytes_max; /* of chunks with samples on disk: each counts in whole blocks of 4 KiB */
    uint64_t age_max_ns;
};

struct spool_counters {
    uint64_t chunks, bytes; /* waiting now */
    uint64_t dropped_chunks, dropped_samples; /* since open: by limit, damage or a full disk */
};

/* Takes up what an earlier life left, numbered from 1 in the order it was added; damaged and
 * half-written files are removed and counted, files with names that are not ours left alone.
 * ST_EXISTS: another agent has the directory; else what the file system said. */
enum status spool_open(const struct spool_options *options, struct wall now, struct spool **out);
void spool_close(struct spool *s);

/* Numbers ascend from 1 within one life of the agent, after those of what was taken up. `samples`
 * is what a drop would lose. ST_NO_SPACE (the disk is full or the chunk over bytes_max), ST_IO,
 * ST_NOMEM, ST_INVALID (empty or over CHUNK_PACKED_MAX): the chunk is dropped and counted; if it
 * can be, its ledger is kept. */
enum status spool_add(struct spool *s, struct slice chunk, uint32_t samples, struct wall now,
                      uint64_t *out_number);
/* The first chunk with a number above `after`; damaged ones on the way are dropped and counted.
 * ST_NOT_FOUND: none; ST_NOMEM, ST_IO: try again. `out` owns its bytes. */
enum status spool_next(struct spool *s, uint64_t after, uint64_t *out_number, struct blob *out);
/* Deletes every chunk up to and including `number`. */
void spool_acknowledge(struct spool *s, uint64_t number);
/* Drops, and counts, what is older than age_max_ns. */
void spool_expire(struct spool *s, struct wall now);
struct spool_counters spool_read_counters(const struct spool *s);

#endif
