/* reading - what a chunk says, whichever dictionary its indexes point into. */
#ifndef TESTS_UNIT_STORE_READING_H
#define TESTS_UNIT_STORE_READING_H

#include "common/chunk.h"
#include "coordinator/store/dictionary.h"

struct reading {
    const struct chunk *chunk;
    const struct dictionary *store; /* NULL: the chunk's own */
};

/* Stack by stack, name by name. */
void reading_assert_same(const struct reading *a, const struct reading *b);

#endif
