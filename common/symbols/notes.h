/* notes - finds a note among ELF notes: those of a file, and those of /sys/kernel/notes. Pure. */
#ifndef COMMON_SYMBOLS_NOTES_H
#define COMMON_SYMBOLS_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire.h"

enum { NOTE_GNU_BUILD_ID = 3, NOTE_GO_BUILD_ID = 4 };

/* The content of the first note with that owner and type, lent from `notes`. `align` is 4 or 8. */
bool notes_find(struct slice notes, uint32_t align, const char *owner, uint32_t type,
                struct slice *out);

#endif
