#include "common/symbols/notes.h"

#include <string.h>

struct note_header { /* the same for 32 and 64 bits */
    uint32_t owner_bytes, content_bytes, type;
};

static uint64_t padded(uint64_t bytes, uint32_t align)
{
    return (bytes + align - 1) / align * align;
}

bool notes_find(struct slice notes, uint32_t align, const char *owner, uint32_t type,
                struct slice *out)
{
    const uint8_t *next = notes.bytes;
    uint64_t left = notes.length;
    struct note_header h;

    while (left >= sizeof(h)) {
        uint64_t content_at, end;

        memcpy(&h, next, sizeof(h));
        content_at = padded(sizeof(h) + (uint64_t)h.owner_bytes, align);
        end = content_at + h.content_bytes;
        if (end > left)
            return false;
        if (h.type == type && h.owner_bytes == strlen(owner) + 1 &&
            memcmp(next + sizeof(h), owner, h.owner_bytes) == 0) {
            *out = (struct slice){next + content_at, h.content_bytes};
            return true;
        }
        end = padded(end, align);
        if (end > left)
            return false;
        next += end;
        left -= end;
    }
    return false;
}
