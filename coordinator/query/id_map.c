/* id_map - the table of pages grows to what the highest id needs. */
#include "coordinator/query/id_map.h"

#include <stdlib.h>
#include <string.h>

static enum status reach(struct id_map *m, uint32_t page)
{
    uint32_t wanted = page < 64 ? 64 : page + page / 2 + 1; /* 2^24 pages at most: it fits */
    uint32_t **pages;

    if (page < m->page_count)
        return ST_OK;
    pages = realloc(m->pages, wanted * sizeof(*pages));
    if (pages == NULL)
        return ST_NOMEM;
    memset(pages + m->page_count, 0, (wanted - m->page_count) * sizeof(*pages));
    m->pages = pages;
    m->page_count = wanted;
    return ST_OK;
}

enum status id_map_set(struct id_map *m, uint32_t id, uint32_t number)
{
    uint32_t page = id >> ID_MAP_PAGE_BITS;

    if (reach(m, page) != ST_OK)
        return ST_NOMEM;
    if (m->pages[page] == NULL) {
        m->pages[page] = malloc(ID_MAP_PAGE * sizeof(**m->pages));
        if (m->pages[page] == NULL)
            return ST_NOMEM;
        memset(m->pages[page], 0xff, ID_MAP_PAGE * sizeof(**m->pages)); /* ID_MAP_NONE */
    }
    m->pages[page][id & (ID_MAP_PAGE - 1)] = number;
    return ST_OK;
}

void id_map_deinit(struct id_map *m)
{
    for (uint32_t i = 0; i < m->page_count; i++)
        free(m->pages[i]);
    free(m->pages);
    memset(m, 0, sizeof(*m));
}
