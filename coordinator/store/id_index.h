/* id_index - finds the id of a content: an open-addressing table of ids, hashed by what they stand
 * for. It stores no content: the owner compares. One thread. */
#ifndef COORDINATOR_STORE_ID_INDEX_H
#define COORDINATOR_STORE_ID_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

struct id_index {
    uint64_t *slots; /* hash's upper 32 bits << 32 | id + 1; 0: empty */
    size_t capacity; /* power of two */
    size_t used;
    uint64_t seed;
};

/* Empty, with a random seed: nobody can choose content that collides and turns every look-up into a
 * walk. Hashes are of this index and this life of the process alone. */
void id_index_init(struct id_index *x);
uint64_t id_index_hash(const struct id_index *x, const void *bytes, size_t length);

/* The id for which `equal` is true, or false. */
bool id_index_find(const struct id_index *x, uint64_t hash,
                   bool (*equal)(const void *arg, uint32_t id), const void *arg, uint32_t *out);
enum status id_index_add(struct id_index *x, uint64_t hash, uint32_t id);
/* Forgets every id at or above `count`. */
void id_index_truncate(struct id_index *x, uint32_t count);
void id_index_deinit(struct id_index *x);

#endif
