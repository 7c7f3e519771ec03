/* array - growing arrays of any type. */
#ifndef COORDINATOR_QUERY_ARRAY_H
#define COORDINATOR_QUERY_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

/* Makes room for one more item in an array that holds `count`; `array` points to the pointer to it.
 * ST_NOMEM, ST_FULL (over 2^31 items): nothing changed. */
enum status array_reserve(void *array, uint32_t *capacity, uint32_t count, size_t item_bytes);

#endif
