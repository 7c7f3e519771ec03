/* array - doubling. */
#include "coordinator/query/array.h"

#include <stdlib.h>
#include <string.h>

enum { ITEMS_FIRST = 32 };

enum status array_reserve(void *array, uint32_t *capacity, uint32_t count, size_t item_bytes)
{
    uint32_t wanted = *capacity == 0 ? ITEMS_FIRST : *capacity * 2;
    void *items;

    if (count < *capacity)
        return ST_OK;
    if (wanted <= *capacity)
        return ST_FULL;
    memcpy(&items, array, sizeof(items)); /* a T ** may not be read as a void ** */
    items = realloc(items, wanted * item_bytes);
    if (items == NULL)
        return ST_NOMEM;
    memcpy(array, &items, sizeof(items));
    *capacity = wanted;
    return ST_OK;
}
