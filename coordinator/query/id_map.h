/* id_map - numbers for ids of a dictionary: dense enough that a table of pages beats a hash, sparse
 * enough that pages are made on demand. One thread. */
#ifndef COORDINATOR_QUERY_ID_MAP_H
#define COORDINATOR_QUERY_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

enum {
    ID_MAP_PAGE_BITS = 8, /* a page of 1 KiB, for ids that come alone */
    ID_MAP_PAGE = 1 << ID_MAP_PAGE_BITS,
};
#define ID_MAP_NONE UINT32_MAX

struct id_map { /* zero-initialised is empty */
    uint32_t **pages; /* of numbers; NULL: no id of it has one */
    uint32_t page_count;
};

static inline uint32_t id_map_get(const struct id_map *m, uint32_t id) /* ID_MAP_NONE */
{
    uint32_t page = id >> ID_MAP_PAGE_BITS;

    if (page >= m->page_count || m->pages[page] == NULL)
        return ID_MAP_NONE;
    return m->pages[page][id & (ID_MAP_PAGE - 1)];
}

enum status id_map_set(struct id_map *m, uint32_t id, uint32_t number); /* ST_NOMEM */
void id_map_deinit(struct id_map *m); /* leaves the empty map */

#endif
