/* text_index - gives equal texts of places one id: debug information names each file and each
 * function many times. */
#ifndef COMMON_SYMBOLS_TEXT_INDEX_H
#define COMMON_SYMBOLS_TEXT_INDEX_H

#include <stdint.h>

#include "common/places.h"
#include "common/status.h"

struct text_index { /* zero-initialised is empty */
    struct places *places; /* lent */
    uint32_t *slots; /* ids, 0: free; a power of two of them, at most half of them used */
    uint32_t slot_count;
    const char *last; /* the text that was asked for last, by its address */
    uint32_t last_id;
};

/* The id of `text`, added to the places when new; NULL and "" are 0. ST_FULL; ST_NOMEM. */
enum status text_index_find(struct text_index *t, const char *text, uint32_t *out);
void text_index_deinit(struct text_index *t);

#endif
