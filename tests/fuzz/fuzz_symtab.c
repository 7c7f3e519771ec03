/* Any bytes as the plain form of a symbol table: refused, or written back and read again as the
 * same; every look-up in it ends. */
#include <string.h>

#include "common/symtab.h"
#include "tests/fuzz/require.h"
#include "tests/support/raw_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct symtab *t)
{
    for (uint32_t i = 0; i < t->count; i++) {
        const struct symbol *s = &t->symbols[i];

        require(symtab_find(t, s->start) != NULL);
        (void)symtab_find(t, s->start + s->size);
        (void)symtab_find(t, s->start - 1);
    }
    for (uint32_t i = 0; i < t->places.span_count; i++) {
        struct place out[PLACES_DEPTH_MAX];
        uint32_t count = places_find(&t->places, t->places.spans[i].start, out, PLACES_DEPTH_MAX);

        require(count <= PLACES_DEPTH_MAX);
        require(count == 0 || out[count - 1].function == NULL);
    }
}

static void write_and_read_again(const struct symtab *t)
{
    struct blob packed;
    struct symtab again;

    require(symtab_encode(t, &packed) == ST_OK);
    require(symtab_decode(blob_slice(&packed), &again) == ST_OK);
    require(again.count == t->count && again.text_length == t->text_length);
    for (uint32_t i = 0; i < t->count; i++)
        require(again.symbols[i].start == t->symbols[i].start &&
                again.symbols[i].size == t->symbols[i].size &&
                again.symbols[i].name == t->symbols[i].name);
    if (t->text_length > 0)
        require(memcmp(again.text, t->text, t->text_length) == 0);
    symtab_deinit(&again);
    blob_deinit(&packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blob frame = raw_frame((struct slice){data, size});
    struct symtab t;

    if (symtab_decode(blob_slice(&frame), &t) == ST_OK) {
        look_up(&t);
        write_and_read_again(&t);
        symtab_deinit(&t);
    }
    blob_deinit(&frame);
    return 0;
}
